import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { readTrace, type TraceEvent } from './trace.js';

function read(t: Test, ...lines: string[]): TraceEvent[] {
  const path = join(t.testdir(), 'trace');
  writeFileSync(path, `${lines.join('\n')}\n`);
  return [...readTrace(path)];
}

t.test('bytes come as they were written', async (t) => {
  const [begin] = read(
    t,
    String.raw`7 1.5 pwrite64(3</d/a "b">, "\0\0012\"\\\n\t\377<x", 10, 4096) = 10`,
  );
  t.same(begin?.call.strings, [Buffer.from([0, 1, 0x32, 0x22, 0x5c, 10, 9, 255, 0x3c, 0x78])]);
  t.same(begin?.call.args, ['3</d/a "b">', '""', '10', '4096']);
  t.equal(begin?.time, 1500);
});

t.test('a call that another thread interrupts begins and returns where it did', async (t) => {
  const events = read(
    t,
    '7 1.0 fsync(3</d/a> <unfinished ...>',
    '8 1.1 openat(AT_FDCWD</d>, "b", O_RDWR|O_CREAT, 0600) = 4</d/b>',
    '7 1.2 <... fsync resumed>)         = 0',
  );
  t.same(
    events.map(({ kind, call: { name } }) => `${kind} ${name}`),
    ['begin fsync', 'begin openat', 'return openat', 'return fsync'],
  );
  t.equal(events[1]?.call.result, 4);
  t.same(events[0]?.call.args, ['3</d/a>']);
});

t.test('a call in which the process ended never returns', async (t) => {
  const events = read(
    t,
    '7 1.0 write(3</d/a>, "a", 1 <unfinished ...>',
    '8 1.1 pwrite64(3</d/a>, "b", 1, 0) = ?',
    '7 1.2 <... write resumed>) = ?',
    '8 1.3 +++ killed by SIGKILL +++',
  );
  t.same(
    events.map(({ kind }) => kind),
    ['begin', 'begin'],
  );
});

t.test('a failure is one', async (t) => {
  const events = read(t, '7 1.0 unlink("/d/a") = -1 ENOENT (No such file or directory)');
  t.equal(events[1]?.call.result, -1);
});
