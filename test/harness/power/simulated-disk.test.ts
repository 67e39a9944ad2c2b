import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Chance } from '../chance.js';
import { leaveDirectory, type FateName } from './power-cut.js';
import { SimulatedDisk } from './simulated-disk.js';
import { SystemCalls } from './system-calls.js';
import type { Call } from './trace.js';

const seeds = Array.from({ length: 40 }, (_, seed) => seed);

/** A process that calls the system, and the disk below `/d`. */
class Process {
  readonly disk = new SimulatedDisk('/d');
  readonly calls = new SystemCalls(this.disk);

  begin(name: string, args: readonly (string | number)[], ...strings: (string | Buffer)[]): Call {
    const call: Call = {
      name,
      args: args.map(String),
      strings: strings.map((text) => Buffer.from(text)),
      result: undefined,
    };
    this.calls.take({ kind: 'begin', call, time: 0 });
    return call;
  }

  end(call: Call, value = 0): void {
    call.result = value;
    this.calls.take({ kind: 'return', call, time: 0 });
  }

  run(
    value: number,
    name: string,
    args: readonly (string | number)[],
    ...strings: (string | Buffer)[]
  ): void {
    this.end(this.begin(name, args, ...strings), value);
  }

  /** A file whose name is durable. */
  openDurable(descriptor: number, path: string, flags = 'O_RDWR|O_CREAT'): void {
    this.run(descriptor, 'openat', ['AT_FDCWD</>', '""', flags], path);
    this.run(99, 'openat', ['AT_FDCWD</>', '""', 'O_RDONLY'], '/d');
    this.run(0, 'fsync', [99]);
  }

  write(descriptor: number, offset: number, bytes: string | Buffer): void {
    this.run(bytes.length, 'pwrite64', [descriptor, '""', bytes.length, offset], bytes);
  }

  /** What a power cut leaves. @returns the contents by name. */
  cut(t: Test, fate: FateName, seed = 1): Readonly<Record<string, Buffer>> {
    const target = mkdtempSync(join(tmpdir(), 'signalbox-cut-'));
    t.teardown(() => rmSync(target, { recursive: true, force: true }));
    leaveDirectory(target, this.disk, this.calls, fate, new Chance(seed, 'cut'));
    return Object.fromEntries(
      readdirSync(target).map((name) => [name, readFileSync(join(target, name))]),
    );
  }
}

function blocks(letter: string, count: number): Buffer {
  return Buffer.alloc(count * 512, letter);
}

t.test('what is synced stays, and of the rest any sectors', async (t) => {
  const process = new Process();
  process.openDurable(3, '/d/file');
  process.write(3, 0, blocks('a', 4));
  process.run(0, 'fdatasync', [3]);
  process.write(3, 0, blocks('b', 4));
  t.same(process.cut(t, 'what is synced')['file'], blocks('a', 4));
  t.same(process.cut(t, 'everything')['file'], blocks('b', 4));
  const left = new Set<string>();
  for (const seed of seeds) {
    const bytes = process.cut(t, 'most, torn', seed)['file'] as Buffer;
    for (let i = 0; i < 4; i++) {
      const sector = bytes.subarray(i * 512, (i + 1) * 512);
      t.ok(sector.equals(blocks('a', 1)) || sector.equals(blocks('b', 1)), 'a sector is whole');
    }
    left.add([0, 512, 1024, 1536].map((at) => String.fromCharCode(bytes[at] ?? 0)).join(''));
  }
  t.ok(left.size > 6, `it is torn in many ways: ${[...left].join()}`);
});

t.test('a sync covers what had returned before it began', async (t) => {
  const process = new Process();
  process.openDurable(3, '/d/file');
  process.write(3, 0, 'a');
  const sync = process.begin('fdatasync', [3]);
  process.write(3, 0, 'b');
  t.same(process.cut(t, 'what is synced')['file'], Buffer.from(''));
  process.end(sync);
  t.same(process.cut(t, 'what is synced')['file'], Buffer.from('a'));
});

t.test('a failed sync covers nothing', async (t) => {
  const process = new Process();
  process.openDurable(3, '/d/file');
  process.write(3, 0, 'a');
  process.run(-1, 'fsync', [3]);
  t.same(process.cut(t, 'what is synced')['file'], Buffer.from(''));
});

t.test(
  'with O_DSYNC a write is durable when it returns, and nothing older comes back',
  async (t) => {
    const process = new Process();
    process.openDurable(3, '/d/file');
    process.openDurable(4, '/d/file', 'O_WRONLY|O_DSYNC');
    process.write(3, 0, 'old');
    const write = process.begin('pwrite64', [4, '""', 3, 0], 'new');
    t.same(process.cut(t, 'what is synced')['file'], Buffer.from(''));
    process.end(write, 3);
    for (const fate of ['what is synced', 'everything'] as const) {
      t.same(process.cut(t, fate)['file'], Buffer.from('new'), fate);
    }
  },
);

t.test('a write that has not returned may be there', async (t) => {
  const process = new Process();
  process.openDurable(3, '/d/file');
  process.write(3, 0, 'ab');
  process.begin('pwrite64', [3, '""', 1, 1], 'X');
  t.same(process.cut(t, 'everything')['file'], Buffer.from('aX'));
});

t.test('a name lasts with the sync of its directory, not with that of its file', async (t) => {
  const process = new Process();
  process.run(3, 'openat', ['AT_FDCWD</d>', '""', 'O_WRONLY|O_CREAT'], 'file');
  process.run(1, 'write', [3, '""', 1], 'a');
  process.run(0, 'fsync', [3]);
  t.same(process.cut(t, 'what is synced'), {});
  process.run(4, 'openat', ['AT_FDCWD</>', '""', 'O_RDONLY'], '/d');
  process.run(0, 'fsync', [4]);
  t.same(process.cut(t, 'what is synced'), { file: Buffer.from('a') });
  process.run(0, 'unlink', ['""'], '/d/file');
  t.same(process.cut(t, 'what is synced'), { file: Buffer.from('a') });
  t.same(process.cut(t, 'everything'), {});
});

t.test('a rename is there or not', async (t) => {
  const process = new Process();
  process.openDurable(3, '/d/draft');
  process.write(3, 0, 'a');
  process.run(0, 'fsync', [3]);
  process.run(0, 'rename', ['""', '""'], '/d/draft', '/d/file');
  const left = new Set(seeds.map((seed) => Object.keys(process.cut(t, 'any of it', seed)).join()));
  t.same([...left].sort(), ['draft', 'file']);
});

t.test('a file grows and shrinks with a sync', async (t) => {
  const process = new Process();
  process.openDurable(3, '/d/file');
  process.write(3, 0, 'abc');
  process.run(0, 'fsync', [3]);
  process.run(0, 'ftruncate', [3, 1]);
  t.same(process.cut(t, 'what is synced')['file'], Buffer.from('abc'));
  process.run(0, 'fsync', [3]);
  process.run(0, 'fallocate', [3, 0, 0, 4]);
  t.same(process.cut(t, 'what is synced')['file'], Buffer.from('a'));
  t.same(process.cut(t, 'everything')['file'], Buffer.from('a\0\0\0'));
});

t.test('a lost directory takes what is in it along', async (t) => {
  const process = new Process();
  process.run(0, 'mkdir', ['""', '0700'], '/d/inner');
  process.run(3, 'openat', ['AT_FDCWD</>', '""', 'O_WRONLY|O_CREAT'], '/d/inner/file');
  process.run(4, 'openat', ['AT_FDCWD</>', '""', 'O_RDONLY'], '/d/inner');
  process.run(0, 'fsync', [4]);
  const target = mkdtempSync(join(tmpdir(), 'signalbox-cut-'));
  t.teardown(() => rmSync(target, { recursive: true, force: true }));
  leaveDirectory(target, process.disk, process.calls, 'what is synced', new Chance(1, 'cut'));
  t.notOk(existsSync(join(target, 'inner')));
});
