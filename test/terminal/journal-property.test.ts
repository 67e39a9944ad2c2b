/**
 * Random lives of a journal: commands, cancels, reports and their numbers, acknowledgements that come late or never,
 * and a start from each beginning of its file. The lives are the same each time.
 */
import t from 'tap';
import type { Fill, ReportableStatus } from '../../src/model/execution.js';
import { withoutUndefined } from '../../src/lib/without-undefined.js';
import type { JournalFile } from '../../src/terminal/journal-file.js';
import { Journal } from '../../src/terminal/journal.js';
import type { ReportFrame } from '../../src/terminal/journal-state.js';
import { Outgoing } from '../../src/terminal/outgoing.js';
import { Chance } from '../harness/chance.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { startTime, submitFrame } from './desk.js';

const lives = 20;
const acts = 80;
const clock = new SimulatedClock(startTime);
const statuses: readonly ReportableStatus[] = ['working', 'partially_filled', 'filled', 'unknown'];
const weights = {
  submit: 3,
  cancel: 1,
  report: 8,
  cancelReport: 1,
  event: 1,
  open: 2,
  close: 1,
  acknowledge: 4,
};

/** A journal on these lines, and the lines that it has once it is compacted. */
function journalOn(lines: readonly string[], append: (line: string) => void = () => undefined) {
  const compacted: string[] = [];
  const file: JournalFile = {
    path: 'memory',
    lines,
    append,
    sync: () => undefined,
    rewrite: (rest) => void compacted.push(...rest),
    close: () => undefined,
  };
  return { journal: new Journal(clock, file), compacted };
}

function contentOf(journal: Journal): string {
  const reports = journal
    .unacknowledged()
    .map(({ id, at, seq, frame }) => ({ id, at, seq, frame }));
  return sorted([journal.executions(), journal.cancels(), reports, journal.seq]);
}

/** The order of an object's fields says nothing. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_name, inner: unknown) =>
    inner === null || typeof inner !== 'object' || Array.isArray(inner)
      ? inner
      : Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1))),
  );
}

function reportBy(chance: Chance, executionId: string): ReportFrame {
  const maybe = <V>(value: V): V | undefined => (chance.happens(0.4) ? value : undefined);
  const fillId = `f${chance.between(1, 4)}`;
  const fill: Fill = { fillId, price: 5, quantity: 1, filledAt: '2026-01-15T12:00:00.000Z' };
  const said = {
    filledQuantity: maybe(chance.between(0, 4)),
    remainingQuantity: maybe(chance.between(0, 4)),
    averageFillPrice: maybe(chance.between(1, 4)),
    native: maybe({ orderId: fillId }),
    fill: maybe(fill),
  };
  return { type: 'report', executionId, status: chance.pick(statuses), ...withoutUndefined(said) };
}

/** Lives through random acts from these lines on. @returns the lines that follow, and the content after each of them. */
function live(chance: Chance, begun: readonly string[]) {
  const lines: string[] = [];
  const contents: string[] = [];
  const { journal } = journalOn(begun, (line) => {
    lines.push(line);
    contents.push(contentOf(journal));
  });
  const event = { type: 'event', event: 'terminal_message', data: {} } as const;
  const outgoing = new Outgoing({ journal, clock, queue: undefined, dropNotice: () => event });
  let received = 0;
  const act: Record<keyof typeof weights, () => void> = {
    submit: () => journal.noteSubmit(submitFrame(`exe_${begun.length + lines.length}`)),
    cancel: () => journal.noteCancel(`can_${begun.length + lines.length}`, 'exe_0'),
    report: () => {
      const known = journal.executions();
      if (known.length > 0) outgoing.addReport(reportBy(chance, chance.pick(known).executionId));
    },
    cancelReport: () => {
      const cancelRequestId = journal.cancels()[0]?.cancelRequestId ?? 'can_none';
      outgoing.addReport({ type: 'cancel_report', cancelRequestId, status: 'pending' });
    },
    event: () => void outgoing.addEvent(event),
    open: () => outgoing.open(received),
    close: () => outgoing.close(),
    acknowledge: () => {
      for (const { seq } of outgoing.takeUnsent()) if (chance.happens(0.5)) received = seq;
      outgoing.acknowledge(chance.between(0, received));
    },
  };
  for (let at = 0; at < acts; at++) {
    act[chance.weigh(weights)]();
    if (chance.happens(0.3)) clock.advance(1_000);
  }
  return { lines, contents };
}

t.test(
  'a start from any beginning of the file, compacted or not, knows what was noted by then',
  (t) => {
    for (let seed = 1; seed <= lives; seed++) {
      const chance = new Chance(seed, 'journal');
      let begun: readonly string[] = [];
      for (const process of ['first', 'second']) {
        const { lines, contents } = live(chance, begun);
        const starts = contents.map((_content, line) =>
          journalOn([...begun, ...lines.slice(0, line + 1)]),
        );
        const wrong = starts.findIndex(({ journal, compacted }, line) =>
          [journal, journalOn(compacted).journal].some(
            (next) => contentOf(next) !== contents[line],
          ),
        );
        t.equal(wrong, -1, `life ${seed}, ${process} process: ${lines[wrong]}`);
        begun = starts.at(-1)?.compacted ?? [];
      }
    }
    t.end();
  },
);
