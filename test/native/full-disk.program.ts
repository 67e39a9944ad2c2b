/** Writes with lmdb alone until its file may not grow any more, and reports how the writes ended. */
import { open } from 'lmdb';

process.on('SIGXFSZ', () => undefined);
const unhandled: string[] = [];
process.on('unhandledRejection', (error) => unhandled.push((error as Error).message));

const database = open<string>(process.argv[2] as string, {
  noSubdir: false,
  overlappingSync: false,
});
let last = -1;
let thrown = '';
while (thrown === '') {
  try {
    database.transactionSync(() => database.putSync(`${last + 1}`, 'x'.repeat(50_000)));
    last++;
  } catch (error) {
    thrown = (error as Error).message;
  }
}
for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
database.transactionSync(() => database.putSync('small', 'x'));
process.send?.(
  JSON.stringify({
    hasReason: thrown !== '',
    unhandled: unhandled.length,
    isLastThere: database.get(`${last}`) !== undefined,
    isFailedThere: database.get(`${last + 1}`) !== undefined,
    isSmallThere: database.get('small') !== undefined,
  }),
);
process.disconnect();
