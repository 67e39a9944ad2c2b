import t from 'tap';
import { frameHeaderBytes, sealFrame } from '../../../src/store/log/frame.js';
import type { Recovery } from '../../../src/store/log/recovery.js';
import { replay } from '../../../src/store/log/replay.js';

function lacking(bytes: number, sync: () => void = () => undefined): Recovery {
  const frame = Buffer.alloc(bytes);
  if (bytes > 0) sealFrame(frame, { position: 0, sequence: 1 });
  const segment = { path: '', bytes, header: undefined, read: () => frame, sync };
  const stretches = bytes === 0 ? [] : [{ segment, from: 0, to: bytes }];
  return { stretches, frames: 1, bytes, end: bytes, newest: undefined, isTorn: false };
}

t.test('what prepares the index comes before the first change, and only with one', async (t) => {
  const done: string[] = [];
  const run = (bytes: number): void =>
    replay(
      lacking(bytes),
      () => void done.push('applied'),
      undefined,
      () => void done.push('prepared'),
    );
  run(0);
  t.strictSame(done, []);
  run(frameHeaderBytes);
  t.strictSame(done, ['prepared', 'applied']);
});

t.test('what the index gets is on disk in the log, although its writer was killed', async (t) => {
  const done: string[] = [];
  replay(
    lacking(frameHeaderBytes, () => void done.push('synced')),
    () => void done.push('applied'),
    undefined,
    () => undefined,
  );
  t.strictSame(done, ['synced', 'applied']);
});
