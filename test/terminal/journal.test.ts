import {
  appendFileSync,
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { limits } from '../../src/limits.js';
import type { ReportableStatus } from '../../src/model/execution.js';
import { openJournal, type JournalFile } from '../../src/terminal/journal-file.js';
import { Journal } from '../../src/terminal/journal.js';
import type { ReportFrame } from '../../src/terminal/journal-state.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { journalIn, source, startTime, submitFrame } from './desk.js';

const clock = new SimulatedClock(startTime);

function reportOf(executionId: string, status: ReportableStatus, fillId?: string): ReportFrame {
  return {
    type: 'report',
    executionId,
    status,
    filledQuantity: status === 'filled' ? 2 : 0,
    ...(fillId === undefined
      ? {}
      : { fill: { fillId, price: 5_000, quantity: 2, filledAt: '2026-01-15T12:00:00.000Z' } }),
  };
}

/** Writes a journal with an entry of each kind, and closes it. */
function fill(directory: string): void {
  const journal = open(directory);
  journal.noteSubmit(submitFrame('exe_1'));
  journal.noteSubmit(submitFrame('exe_2'));
  journal.noteReport(reportOf('exe_1', 'working'), 5);
  journal.noteReport(reportOf('exe_1', 'filled', 'exe_1-1'), 7);
  journal.noteReport(reportOf('exe_2', 'working'), undefined);
  journal.noteCancel('can_1', 'exe_2');
  journal.noteReport(
    { type: 'cancel_report', cancelRequestId: 'can_1', status: 'pending' },
    undefined,
  );
  journal.noteAcknowledged(5);
  journal.flush();
  journal.close();
}

function open(directory: string, at = clock): Journal {
  return journalIn(directory, at);
}

function openFile(directory: string): JournalFile {
  return openJournal(directory, source, 'journal', (file) => file);
}

function pathIn(directory: string): string {
  const name = readdirSync(directory).find((file) => file.endsWith('.journal'));
  return join(directory, String(name));
}

function descriptorOf(path: string): number {
  const { ino } = statSync(path);
  for (let descriptor = 3; ; descriptor++) {
    try {
      if (fstatSync(descriptor).ino === ino) return descriptor;
    } catch {
      // No file is open under this number.
    }
  }
}

function check(t: Test, journal: Journal): void {
  t.equal(journal.seq, 7);
  t.match(journal.execution('exe_1'), {
    status: 'filled',
    isReported: true,
    filledQuantity: 2,
    fills: [{ fillId: 'exe_1-1' }],
    submit: { payload: {} },
  });
  t.match(journal.execution('exe_2'), {
    status: 'working',
    submit: { payload: { instrument: 'ES' } },
    fills: [],
  });
  t.match(journal.cancel('can_1'), { executionId: 'exe_2', evidence: { status: 'pending' } });
  t.match(
    journal.unacknowledged().map(({ seq, frame }) => [seq, frame.type]),
    [
      [7, 'report'],
      [undefined, 'report'],
      [undefined, 'cancel_report'],
    ],
  );
}

t.test('a reopened journal knows all that was noted', (t) => {
  const directory = t.testdir();
  fill(directory);
  const journal = open(directory);
  check(t, journal);
  journal.close();
  const again = open(directory);
  t.teardown(() => again.close());
  check(t, again);
  t.equal(again.unacknowledged().length, 3);
  t.end();
});

t.test('a journal without a file knows the same, for its own time', (t) => {
  const journal = new Journal(clock);
  journal.noteSubmit(submitFrame('exe_1'));
  journal.flush();
  t.match(journal.execution('exe_1'), { status: 'submitted', isReported: false });
  journal.close();
  t.end();
});

t.test('what remains, and the average, are known until more is filled', (t) => {
  const journal = new Journal(clock);
  journal.noteSubmit(submitFrame('exe_1'));
  const told = {
    ...reportOf('exe_1', 'working'),
    filledQuantity: 1,
    remainingQuantity: 1,
    averageFillPrice: 5,
  };
  journal.noteReport(told, undefined);
  journal.noteReport({ type: 'report', executionId: 'exe_1', status: 'working' }, undefined);
  t.match(journal.execution('exe_1'), { remainingQuantity: 1, averageFillPrice: 5 });
  journal.noteReport(reportOf('exe_1', 'filled', 'f2'), undefined);
  t.notOk(Object.hasOwn(journal.execution('exe_1') ?? {}, 'averageFillPrice'));
  t.notOk(Object.hasOwn(journal.execution('exe_1') ?? {}, 'remainingQuantity'));
  journal.close();
  t.end();
});

t.test(
  'what held before a further fill does not come back from a journal that was compacted',
  (t) => {
    const directory = t.testdir();
    const journal = open(directory);
    journal.noteSubmit(submitFrame('exe_1'));
    const [first, second] = ['f1', 'f2'].map((fillId) => ({
      type: 'report' as const,
      executionId: 'exe_1',
      status: 'partially_filled' as const,
      fill: { fillId, price: 5_000, quantity: 0.5, filledAt: '2026-01-15T12:00:00.000Z' },
    }));
    journal.noteReport(
      { ...first, remainingQuantity: 1.5, averageFillPrice: 5_000 } as ReportFrame,
      1,
    );
    journal.noteReport(second as ReportFrame, 2);
    journal.flush();
    journal.close();
    const known = journal.execution('exe_1');
    for (const next of ['the first', 'the second']) {
      const again = open(directory);
      t.strictSame(again.execution('exe_1'), known, `${next} start`);
      t.equal(again.unacknowledged().length, 2);
      again.close();
    }
    t.end();
  },
);

t.test('a torn last line is left out, wherever it was torn', (t) => {
  const directory = t.testdir();
  fill(directory);
  const path = pathIn(directory);
  const whole = readFileSync(path);
  const torn = Buffer.from('{"kind":"execution","execution":{"executionId":"exe_é"}}\n');
  for (let length = 1; length < torn.length; length++) {
    writeFileSync(path, Buffer.concat([whole, torn.subarray(0, length)]));
    const journal = open(directory);
    check(t, journal);
    t.equal(journal.executions().length, 2);
    journal.noteSubmit(submitFrame('exe_3'));
    journal.flush();
    journal.close();
    const again = open(directory);
    t.equal(again.executions().length, 3, 'what is written after it is read');
    again.close();
  }
  t.end();
});

t.test('a journal cut off anywhere gives a beginning of what was noted', (t) => {
  const directory = t.testdir();
  fill(directory);
  const path = pathIn(directory);
  const whole = readFileSync(path);
  for (let length = 0; length < whole.length; length += 7) {
    writeFileSync(path, whole.subarray(0, length));
    const journal = open(directory);
    t.ok(journal.executions().length <= 2);
    journal.close();
  }
  t.end();
});

t.test('damage in the middle is refused, with the line', (t) => {
  const directory = t.testdir();
  fill(directory);
  const path = pathIn(directory);
  const lines = readFileSync(path, 'utf8').split('\n');
  lines[2] = String(lines[2]).slice(5);
  writeFileSync(path, lines.join('\n'));
  t.throws(() => open(directory), { name: 'Error', message: /damaged in line 3/ });
  lines.splice(2, 1);
  writeFileSync(path, lines.join('\n'));
  open(directory).close();
  t.end();
});

t.test('a journal that is in use is refused, and free again once closed', (t) => {
  const directory = t.testdir();
  const journal = open(directory);
  t.throws(() => open(directory), { message: /in use by another terminal/ });
  journal.close();
  open(directory).close();
  t.end();
});

t.test('a directory that cannot be made is refused', (t) => {
  const directory = t.testdir({ file: '' });
  t.throws(() => open(join(directory, 'file', 'journal')), {
    message: /cannot be used: (ENOTDIR|EEXIST)/,
  });
  if (existsSync('/proc/self'))
    t.throws(() => open('/proc/signalbox'), { message: /cannot be used: ENOENT/ });
  t.end();
});

t.test('a journal that cannot be compacted is refused, and free again', (t) => {
  const directory = t.testdir();
  fill(directory);
  const draft = `${pathIn(directory)}.new`;
  // A directory in the place of the draft makes it fail, as a full disk would.
  mkdirSync(draft);
  t.throws(() => open(directory), { message: /cannot be used: EISDIR/ });
  rmdirSync(draft);
  const journal = open(directory);
  check(t, journal);
  journal.close();
  t.end();
});

t.test('terminals share a directory without sharing a journal', (t) => {
  const directory = t.testdir();
  const names = [source, { ...source, accountName: '../é/\0' }, { ...source, instanceId: '' }];
  const journals = names.map((name) => journalIn(directory, clock, name));
  journals[0]?.noteSubmit(submitFrame('exe_1'));
  t.equal(journals[1]?.execution('exe_1'), undefined);
  t.equal(readdirSync(directory).filter((file) => file.endsWith('.journal')).length, 3);
  for (const journal of journals) journal.close();
  t.end();
});

t.test('only its owner can read a journal', (t) => {
  const directory = join(t.testdir(), 'journal');
  fill(directory);
  t.equal(statSync(directory).mode & 0o777, 0o700);
  t.equal(statSync(pathIn(directory)).mode & 0o777, 0o600);
  t.end();
});

t.test('nothing is on disk before the flush, and all of it after', (t) => {
  const directory = t.testdir();
  const journal = open(directory);
  const before = statSync(pathIn(directory)).size;
  journal.noteSubmit(submitFrame('exe_1'));
  t.equal(statSync(pathIn(directory)).size, before);
  journal.flush();
  t.ok(readFileSync(pathIn(directory), 'utf8').includes('exe_1'));
  journal.close();
  t.end();
});

t.test('a journal that could not be written takes nothing more', (t) => {
  const directory = t.testdir();
  const file = openFile(directory);
  file.append('{"kind":"first"}');
  file.sync();
  const path = pathIn(directory);
  const descriptor = descriptorOf(path);
  // A closed descriptor fails the write, as a disk would that fails and recovers.
  closeSync(descriptor);
  file.append('{"kind":"second"}');
  t.throws(() => file.sync(), { code: 'EBADF' });
  t.equal(openSync(path, 'a'), descriptor);
  file.append('{"kind":"third"}');
  t.throws(() => file.sync(), { code: 'EBADF' });
  t.equal(readFileSync(path, 'utf8'), '{"kind":"first"}\n');
  file.close();
  t.end();
});

t.test('a journal that could not be rewritten takes nothing more', (t) => {
  const directory = t.testdir();
  const file = openFile(directory);
  const draft = `${pathIn(directory)}.new`;
  mkdirSync(draft);
  t.throws(() => file.rewrite(['{"kind":"first"}']), { code: 'EISDIR' });
  rmdirSync(draft);
  file.append('{"kind":"second"}');
  t.throws(() => file.sync(), { code: 'EISDIR' });
  t.throws(() => file.rewrite([]), { code: 'EISDIR' });
  file.close();
  t.end();
});

t.test('a report is numbered later without being noted twice', (t) => {
  const directory = t.testdir();
  const journal = open(directory);
  journal.noteSubmit(submitFrame('exe_1'));
  const first = journal.noteReport(reportOf('exe_1', 'working'), undefined);
  const second = journal.noteReport(reportOf('exe_1', 'filled', 'f'), undefined);
  journal.noteNumber(first, 11);
  journal.noteNumber(second, 12);
  journal.flush();
  journal.close();
  const again = open(directory);
  t.teardown(() => again.close());
  t.equal(again.seq, 12);
  t.equal(again.execution('exe_1')?.status, 'filled');
  t.match(again.unacknowledged(), [{ seq: 11 }, { seq: 12 }]);
  again.noteAcknowledged(11);
  t.match(again.unacknowledged(), [{ seq: 12 }]);
  t.equal(again.unacknowledged().length, 1);
  t.end();
});

const keepMs = limits.ttlMsMax.max + limits.futureSkewMsMax.max;

t.test('what is finished and acknowledged is forgotten when no submit can repeat it', (t) => {
  const directory = t.testdir();
  fill(directory);
  const later = new SimulatedClock(startTime + keepMs);
  const kept = open(directory, later);
  kept.noteAcknowledged(7);
  kept.flush();
  kept.close();
  t.ok(kept.execution('exe_1'), 'not a moment too early');
  later.advance(30_000);
  const journal = open(directory, later);
  t.equal(journal.execution('exe_1'), undefined);
  t.ok(journal.execution('exe_2'), 'it is not finished');
  t.ok(journal.cancel('can_1'), 'its execution is still known');
  t.notOk(readFileSync(pathIn(directory), 'utf8').includes('exe_1'));
  journal.close();
  t.end();
});

t.test('what is unfinished is never forgotten, and what ended lately not yet', (t) => {
  const directory = t.testdir();
  const later = new SimulatedClock(startTime);
  const journal = open(directory, later);
  for (const executionId of ['working', 'filled']) {
    journal.noteSubmit(submitFrame(executionId));
    journal.noteReport(reportOf(executionId, 'working'), undefined);
  }
  later.advance(2 * keepMs);
  journal.noteReport(reportOf('filled', 'filled', 'f'), 9);
  for (const { id } of journal.unacknowledged()) journal.noteNumber(id, id);
  journal.noteAcknowledged(9);
  journal.flush();
  journal.close();
  later.advance(keepMs);
  const again = open(directory, later);
  t.teardown(() => again.close());
  t.strictSame(again.unacknowledged(), []);
  t.strictSame(
    again.executions().map(({ executionId }) => executionId),
    ['working', 'filled'],
  );
  t.end();
});

t.test(
  'what is unknown is kept for 30 days: it may yet be carried out, and is then forgotten',
  (t) => {
    const directory = t.testdir();
    const later = new SimulatedClock(startTime);
    const journal = open(directory, later);
    journal.noteSubmit(submitFrame('exe_1'));
    journal.noteReport(reportOf('exe_1', 'unknown'), 1);
    journal.noteAcknowledged(1);
    journal.flush();
    journal.close();
    const daysMs = limits.executionRetentionDays.value * 86_400_000;
    for (const [ms, isKnown] of [
      [daysMs, true],
      [1, false],
    ] as const) {
      later.advance(ms);
      const again = open(directory, later);
      t.equal(again.execution('exe_1') !== undefined, isKnown);
      again.close();
    }
    t.end();
  },
);

t.test('what the gateway has not acknowledged is never forgotten', (t) => {
  const directory = t.testdir();
  fill(directory);
  const journal = open(directory, new SimulatedClock(startTime + 100 * keepMs));
  t.teardown(() => journal.close());
  check(t, journal);
  t.end();
});

t.test('a cancel whose outcome is not acknowledged is not forgotten', (t) => {
  const directory = t.testdir();
  const journal = open(directory);
  for (const seq of [1, 2]) {
    const cancelRequestId = `can_${seq}`;
    journal.noteCancel(cancelRequestId, 'exe_of_nobody');
    journal.noteReport({ type: 'cancel_report', cancelRequestId, status: 'rejected' }, seq);
  }
  journal.noteAcknowledged(1);
  journal.flush();
  journal.close();
  const again = open(directory, new SimulatedClock(startTime + 2 * keepMs));
  t.teardown(() => again.close());
  t.strictSame(
    again.cancels().map(({ cancelRequestId }) => cancelRequestId),
    ['can_2'],
  );
  t.end();
});

t.test('a journal that is too long forgets early only what no submit can repeat', (t) => {
  const later = new SimulatedClock(startTime);
  const journal = new Journal(later);
  const expired = ['exe_2', 'exe_4', 'exe_5'];
  const length = 100_002;
  for (let n = 1; n <= length; n++) {
    const executionId = `exe_${n}`;
    const leftMs = expired.includes(executionId) ? 0 : 60_000;
    const expiresAt = new Date(startTime + leftMs).toISOString();
    journal.noteSubmit(submitFrame(executionId, { expiresAt }));
    journal.noteReport(reportOf(executionId, 'filled'), n);
    journal.noteAcknowledged(n);
  }
  later.advance(limits.futureSkewMsMax.max + 60_000);
  journal.flush();
  t.equal(journal.executions().length, length - 2);
  t.strictSame(
    expired.filter((executionId) => journal.execution(executionId) === undefined),
    ['exe_2', 'exe_4'],
  );
  t.end();
});

t.test('a journal at work stays bounded', (t) => {
  const directory = t.testdir();
  const later = new SimulatedClock(startTime);
  const journal = open(directory, later);
  t.teardown(() => journal.close());
  for (let n = 1; n <= 8_000; n++) {
    journal.noteSubmit(submitFrame(`exe_${n}`));
    journal.noteReport(reportOf(`exe_${n}`, 'filled', 'f'), n);
    journal.noteAcknowledged(n);
  }
  later.advance(keepMs + 30_000);
  journal.flush();
  t.equal(journal.executions().length, 0);
  t.ok(statSync(pathIn(directory)).size < 1_000);
  journal.noteSubmit(submitFrame('exe_new'));
  journal.flush();
  t.ok(readFileSync(pathIn(directory), 'utf8').includes('exe_new'), 'and goes on in the new file');
  t.equal(journal.seq, 8_000);
  t.end();
});

t.test('a leftover of a rewrite that was cut off does no harm', (t) => {
  const directory = t.testdir();
  fill(directory);
  appendFileSync(`${pathIn(directory)}.new`, '{"kind":"exec');
  const journal = open(directory);
  t.teardown(() => journal.close());
  check(t, journal);
  t.end();
});
