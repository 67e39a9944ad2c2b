/**
 * Writes with lmdb alone until its file may grow no more, catching whatever the writes reject with, and
 * reports what nobody could catch.
 */
import { open } from 'lmdb';

process.on('SIGXFSZ', () => undefined);
const unhandled: string[] = [];
process.on('unhandledRejection', (error) => unhandled.push((error as Error).message));

const database = open<string>(process.argv[2] as string, {
  noSubdir: false,
  overlappingSync: false,
});
let rejection: (Error & { commitError?: Promise<unknown> }) | undefined;
for (let turn = 0; rejection === undefined; turn++) {
  try {
    await database.put(`${turn}`, 'x'.repeat(50_000));
  } catch (error) {
    rejection = error as Error;
  }
}
const hasPromiseOfReason = rejection.commitError instanceof Promise;
for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);

let smallWriteLater = true;
try {
  await database.put('small', 'x');
} catch {
  smallWriteLater = false;
}
process.send?.(
  JSON.stringify({
    message: rejection.message,
    hasPromiseOfReason,
    unhandled: unhandled.length,
    smallWriteLater,
  }),
);
process.disconnect();
