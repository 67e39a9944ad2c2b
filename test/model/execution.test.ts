import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import {
  applyReport,
  executionStates,
  isCancellable,
  isFinal,
  isSettled,
  mayMove,
  reportableStatuses,
  type Execution,
  type ExecutionReport,
  type ExecutionStatus,
} from '../../src/model/execution.js';
import { aCancel, aFill, anExecution } from '../signals/an-execution.js';

/** The contract's table, section 4. Nobody but the gateway itself can deny. */
const documented: Record<string, { final: boolean; next: readonly string[] }> = {
  queued: { final: false, next: ['dispatched', 'denied', 'expired'] },
  dispatched: {
    final: false,
    next: [
      'submitted',
      'working',
      'partially_filled',
      'filled',
      'completed',
      'cancelled',
      'rejected',
      'expired',
      'unknown',
    ],
  },
  submitted: {
    final: false,
    next: [
      'working',
      'partially_filled',
      'filled',
      'completed',
      'cancelled',
      'rejected',
      'expired',
      'unknown',
    ],
  },
  working: {
    final: false,
    next: [
      'partially_filled',
      'filled',
      'completed',
      'cancelled',
      'rejected',
      'expired',
      'unknown',
    ],
  },
  partially_filled: { final: false, next: ['filled', 'cancelled', 'expired', 'unknown'] },
  filled: { final: true, next: [] },
  completed: { final: true, next: [] },
  cancelled: { final: true, next: ['filled'] },
  rejected: { final: true, next: [] },
  denied: { final: true, next: [] },
  expired: { final: true, next: [] },
  unknown: {
    final: true,
    next: [
      'submitted',
      'working',
      'partially_filled',
      'filled',
      'completed',
      'cancelled',
      'rejected',
      'expired',
    ],
  },
};
const statuses = Object.keys(documented) as ExecutionStatus[];
const later = anExecution('queued').updatedAt + 5_000;

t.test('the states and their moves are the contract’s', async (t) => {
  t.strictSame(executionStates, documented);
  for (const from of statuses) {
    t.equal(isFinal(from), documented[from]?.final, from);
    for (const to of statuses) {
      t.equal(mayMove(from, to), documented[from]?.next.includes(to), `${from} → ${to}`);
    }
  }
});

t.test('a report moves an execution where the table lets it and nowhere else', async (t) => {
  t.strictSame(
    reportableStatuses,
    statuses.filter((status) => !['queued', 'dispatched', 'denied'].includes(status)),
  );
  for (const from of statuses) {
    for (const status of reportableStatuses) {
      const before = anExecution(from);
      const after = applyReport(before, { status }, later);
      const isAllowed = from === status || documented[from]?.next.includes(status) === true;
      t.equal(after?.status, isAllowed ? status : undefined, `${from} → ${status}`);
      if (after === undefined) continue;
      t.equal(after.delivery, 'confirmed');
      t.equal(after.confirmedAt, later);
      t.equal(after.updatedAt, later);
    }
  }
});

t.test('fills add up, each once', async (t) => {
  const first = report(anExecution('working'), 'partially_filled', { fill: aFill('f1', 3, 100) });
  t.match(first, { filledQuantity: 3, remainingQuantity: 7, averageFillPrice: 100 });
  const second = report(first, 'partially_filled', { fill: aFill('f2', 1, 104) });
  t.match(second, { filledQuantity: 4, remainingQuantity: 6, averageFillPrice: 101 });
  t.equal(
    applyReport(second, { status: 'partially_filled', fill: aFill('f2', 1, 104) }, later),
    undefined,
    'the same fill again is nothing new',
  );
  const third = report(second, 'filled', { fill: aFill('f2', 1, 104), filledQuantity: 10 });
  t.equal(third.fills.length, 2, 'a known fill beside news is not counted again');
  t.match(third, { status: 'filled', filledQuantity: 10, remainingQuantity: 0 });
});

t.test('sums of decimal fills are decimal', async (t) => {
  let execution = anExecution('working', { quantity: 0.3, remainingQuantity: 0.3 });
  for (const id of ['a', 'b', 'c']) {
    execution = report(execution, 'partially_filled', { fill: aFill(id, 0.1, 0.1) });
  }
  t.match(execution, { filledQuantity: 0.3, remainingQuantity: 0, averageFillPrice: 0.1 });
});

t.test('what the terminal says itself wins over what can be computed', async (t) => {
  const after = report(anExecution('working'), 'partially_filled', {
    fill: aFill('f1', 2, 100),
    filledQuantity: 5,
    remainingQuantity: 4,
    averageFillPrice: 99.5,
  });
  t.match(after, { filledQuantity: 5, remainingQuantity: 4, averageFillPrice: 99.5 });
});

t.test('a fill counts also where a total without fills came before it', async (t) => {
  const known = report(anExecution('working'), 'partially_filled', { filledQuantity: 7 });
  const after = report(known, 'filled', { fill: aFill('f1', 3) });
  t.equal(after.status, 'filled', 'the end of the order is not lost');
  t.equal(after.fills.length, 1);
  t.equal(after.filledQuantity, 7, 'never less than the terminal has said');
});

const ignored: [string, Execution, ExecutionReport][] = [
  ['backward', anExecution('working'), { status: 'submitted' }],
  [
    'taking back a filled quantity',
    anExecution('partially_filled', { filledQuantity: 5 }),
    { status: 'partially_filled', filledQuantity: 4 },
  ],
  [
    'ending with less than was filled',
    anExecution('partially_filled', { filledQuantity: 5 }),
    { status: 'cancelled', filledQuantity: 0 },
  ],
  ['vaguer than what is definitive', anExecution('filled'), { status: 'unknown' }],
  ['a rejection after a fill', anExecution('partially_filled'), { status: 'rejected' }],
  ['a cancel after the fill', anExecution('filled'), { status: 'cancelled' }],
  ['of what was never sent', anExecution('queued'), { status: 'working' }],
  ['of what was denied', anExecution('denied'), { status: 'rejected' }],
];
for (const [name, execution, evidence] of ignored) {
  t.test(`a report is ignored: ${name}`, async (t) => {
    t.equal(applyReport(execution, evidence, later), undefined);
  });
}

t.test('a repeated report is ignored, each new word in it is not', async (t) => {
  const native = { orderId: 'A1', state: 'Working', code: 7, text: 'ok' };
  const evidence: ExecutionReport = { status: 'working', native, reasonCode: 'price_changed' };
  const known = report(anExecution('dispatched'), 'working', evidence);
  t.equal(applyReport(known, evidence, later), undefined);
  const news: Partial<ExecutionReport>[] = [
    { reasonCode: 'no_quotes' },
    { filledQuantity: 1 },
    { remainingQuantity: 9.5 },
    { averageFillPrice: 1 },
    { fill: aFill('f', 1) },
    { native: { ...native, orderId: 'A2' } },
    { native: { ...native, state: 'Held' } },
    { native: { ...native, code: '7' } },
    { native: { ...native, text: 'still ok' } },
  ];
  for (const word of news) {
    t.ok(applyReport(known, { ...evidence, ...word }, later), JSON.stringify(word));
  }
});

t.test(
  'the first report confirms, also where it says what was known; later ones keep that time',
  async (t) => {
    const acknowledged = anExecution('submitted', { delivery: 'confirmed' });
    const confirmed = report(acknowledged, 'submitted');
    t.equal(confirmed.confirmedAt, later);
    const next = applyReport(confirmed, { status: 'working' }, later + 9);
    t.match(next, { confirmedAt: later, updatedAt: later + 9 });
  },
);

t.test('evidence corrects unknown and takes its reason away', async (t) => {
  const unknown = anExecution('unknown', { reasonCode: 'confirmation_timeout' });
  t.match(report(unknown, 'working'), { status: 'working', reasonCode: null });
  t.match(report(unknown, 'rejected', { reasonCode: 'no_quotes' }), {
    status: 'rejected',
    reasonCode: 'no_quotes',
  });
});

t.test('a cancelled order keeps its fills, and a late fill may still fill it', async (t) => {
  const filling = report(anExecution('working'), 'partially_filled', { fill: aFill('f1', 4) });
  const cancelled = report(filling, 'cancelled', { reasonCode: 'cancelled_in_terminal' });
  t.match(cancelled, { status: 'cancelled', filledQuantity: 4, remainingQuantity: 6 });
  const late = report(cancelled, 'cancelled', { fill: aFill('f2', 1) });
  t.match(late, {
    status: 'cancelled',
    filledQuantity: 5,
    reasonCode: 'cancelled_in_terminal',
  });
  t.match(report(late, 'filled', { fill: aFill('f3', 5) }), {
    status: 'filled',
    filledQuantity: 10,
    remainingQuantity: 0,
    reasonCode: null,
  });
});

t.test('a terminal that says only filled means the whole quantity', async (t) => {
  const order = anExecution('working', { quantity: 3, filledQuantity: 0 });
  const filled = applyReport(order, { status: 'filled' }, 2);
  t.match(filled, { filledQuantity: 3, remainingQuantity: 0, averageFillPrice: null });
  const closed = anExecution('submitted', { quantity: null, filledQuantity: null });
  t.match(applyReport(closed, { status: 'filled' }, 2), { filledQuantity: null });
});

t.test('what the terminal does not say stays as it was', async (t) => {
  const native = { orderId: 'A1', state: null, code: null, text: null };
  const before = anExecution('working', { native, averageFillPrice: 3, filledQuantity: 1 });
  t.match(report(before, 'cancelled'), {
    native,
    averageFillPrice: 3,
    filledQuantity: 1,
    remainingQuantity: 10,
  });
});

t.test('a command that is no order has no quantities to compute', async (t) => {
  const close = anExecution('dispatched', {
    orderRef: null,
    quantity: null,
    filledQuantity: null,
    remainingQuantity: null,
  });
  t.match(report(close, 'completed'), { filledQuantity: null, remainingQuantity: null });
});

t.test('cancellable are orders that live at the terminal, or may', async (t) => {
  const cancellable = statuses.filter((status) => isCancellable(anExecution(status)));
  t.strictSame(cancellable, ['submitted', 'working', 'partially_filled', 'unknown']);
  t.equal(isCancellable(anExecution('unknown', { dispatchedAt: null })), false);
});

t.test('settled is what is final together with its cancel', async (t) => {
  for (const status of statuses) {
    t.equal(isSettled(anExecution(status)), documented[status]?.final);
    t.equal(isSettled(anExecution(status, { cancel: aCancel('pending') })), false);
    t.equal(
      isSettled(anExecution(status, { cancel: aCancel('too_late') })),
      documented[status]?.final,
    );
  }
});

t.test(
  'whatever terminals report, nothing definitive is undone and no fill counts twice',
  async () => {
    const evidence: fc.Arbitrary<ExecutionReport> = fc.record(
      {
        status: fc.constantFrom(...reportableStatuses),
        filledQuantity: fc.integer({ min: 0, max: 12 }),
        remainingQuantity: fc.integer({ min: 0, max: 10 }),
        fill: fc
          .tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 4 }))
          .map(([id, quantity]) => aFill(`f${id}`, quantity)),
      },
      { requiredKeys: ['status'] },
    );
    fc.assert(
      fc.property(fc.array(evidence, { maxLength: 30 }), (reports) => {
        let execution = anExecution('dispatched');
        for (const each of reports) {
          const after = applyReport(execution, each, later);
          if (after === undefined) continue;
          const isSame = after.status === execution.status;
          assert(isSame || documented[execution.status]?.next.includes(after.status));
          assert((after.filledQuantity ?? 0) >= (execution.filledQuantity ?? 0));
          assert(after.fills.length >= execution.fills.length);
          execution = after;
        }
        const ids = execution.fills.map(({ fillId }) => fillId);
        assert.equal(new Set(ids).size, ids.length);
      }),
      { numRuns: 1_000 },
    );
  },
);

t.test('with fills alone, the filled quantity is their sum', async () => {
  const fills = fc.array(fc.tuple(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 9 })));
  fc.assert(
    fc.property(fills, (reported) => {
      const counted = new Map<number, number>();
      let execution = anExecution('working', { quantity: 1_000, remainingQuantity: 1_000 });
      for (const [id, quantity] of reported) {
        const fill = aFill(`f${id}`, quantity);
        execution =
          applyReport(execution, { status: 'partially_filled', fill }, later) ?? execution;
        if (!counted.has(id)) counted.set(id, quantity);
      }
      const sum = [...counted.values()].reduce((total, quantity) => total + quantity, 0);
      assert.equal(execution.filledQuantity, sum);
      assert.equal(execution.remainingQuantity, 1_000 - sum);
    }),
  );
});

function report(
  execution: Execution,
  status: ExecutionReport['status'],
  evidence: Partial<ExecutionReport> = {},
): Execution {
  const after = applyReport(execution, { ...evidence, status }, later);
  assert(after !== undefined, `${execution.status} → ${status} was ignored`);
  return after;
}
