import t from 'tap';
import { frameHeaderBytes } from '../../../src/store/log/frame.js';
import { Log } from '../../../src/store/log/log.js';
import { recover } from '../../../src/store/log/recovery.js';
import { segmentHeaderBytes } from '../../../src/store/log/segment.js';
import { WriteRefused } from '../../../src/store/store.js';
import { createMemoryDisk } from '../../support/memory-segment-files.js';

const logId = '0123456789abcdef';
const segmentBytes = segmentHeaderBytes + 6 * 1024;

t.test('without a descriptor for the next segment, the log keeps the one it has', async (t) => {
  const disk = createMemoryDisk();
  const closed: number[] = [];
  let canOpen = true;
  const files = {
    ...disk,
    open: (path: string) => (canOpen ? disk.open(path) : Promise.reject(new Error('EMFILE'))),
    close: async (descriptor: number) => void closed.push(descriptor),
  };
  const options = { logId, files, segmentBytes, refusal: () => undefined };
  const log = new Log(options, [], recover([], { logId, position: 0 }));
  const append = (bytes: number): Promise<unknown> =>
    new Promise((resolve) => log.append(Buffer.alloc(frameHeaderBytes + bytes), resolve));

  t.equal(await append(4_000), undefined);
  canOpen = false;
  for (let i = 0; i < 5; i++) t.type(await append(4_000), WriteRefused);
  t.same(closed, [], 'it is still open');
  t.equal(disk.contents.size, 2, 'one file waits, however often it was tried');
  t.equal(await append(500), undefined, 'what has room there is written');
  canOpen = true;
  t.equal(await append(4_000), undefined);
  t.same(closed, [0]);
  t.equal(recover(disk.find(), { logId, position: 0 }).end, log.end, 'all of it is found');
});

t.test(
  'a segment that cannot be closed takes neither the next one nor its descriptor',
  async (t) => {
    const disk = createMemoryDisk();
    const opened = new Set<number>();
    const files = {
      ...disk,
      async open(path: string) {
        const descriptor = await disk.open(path);
        opened.add(descriptor);
        return descriptor;
      },
      async close(descriptor: number) {
        // Linux frees the descriptor, whatever the close returns.
        opened.delete(descriptor);
        if (descriptor % 2 === 0) throw new Error('EIO');
      },
    };
    const log = new Log(
      { logId, files, segmentBytes, refusal: () => undefined },
      [],
      recover([], { logId, position: 0 }),
    );
    const append = (): Promise<unknown> =>
      new Promise((resolve) => log.append(Buffer.alloc(frameHeaderBytes + 4_000), resolve));
    for (let i = 0; i < 20; i++) {
      if ((await append()) !== undefined) t.equal(await append(), undefined);
      log.release(log.end);
    }
    t.equal(opened.size, 1);
    t.ok(disk.contents.size <= 6, `${disk.contents.size} files`);
    t.equal(recover(disk.find(), { logId, position: log.end }).end, log.end);
  },
);

t.test(
  'a log that was written to has a file ready for the next start, whose disk may be full',
  async (t) => {
    const disk = createMemoryDisk();
    const options = { logId, files: disk, segmentBytes, refusal: () => undefined };
    const append = (log: Log): Promise<unknown> =>
      new Promise((resolve) => log.append(Buffer.alloc(frameHeaderBytes + 100), resolve));
    const first = new Log(options, [], recover([], { logId, position: 0 }));
    t.equal(await append(first), undefined);
    await first.close();

    const found = disk.find();
    const isFull = () => new WriteRefused('the disk is full: simulated');
    const next = new Log(
      { ...options, refusal: isFull },
      found,
      recover(found, { logId, position: first.end }),
    );
    t.equal(await append(next), undefined);
    await next.close();
  },
);
