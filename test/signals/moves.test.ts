import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { limits } from '../../src/limits.js';
import {
  cancelStates,
  reportableCancelStatuses,
  type CancelStatus,
} from '../../src/model/cancellation.js';
import {
  executionStates,
  mayMove,
  reportableStatuses,
  type Execution,
  type ExecutionReport,
  type ExecutionStatus,
} from '../../src/model/execution.js';
import * as cancelMoves from '../../src/signals/cancel-moves.js';
import type { Move } from '../../src/signals/move.js';
import * as moves from '../../src/signals/moves.js';
import { asOfCopy } from '../../src/signals/sendable.js';
import { aCancel, aFill, anExecution, roomFor } from './an-execution.js';
import { cancelEnds } from '../model/contract-states.js';

const statuses = Object.keys(executionStates) as ExecutionStatus[];
const cancelStatuses = Object.keys(cancelStates) as CancelStatus[];
const later = anExecution('queued').updatedAt + 5_000;

t.test('a report moves an execution where the table lets it and nowhere else', async (t) => {
  t.strictSame(
    reportableStatuses,
    statuses.filter((status) => !['queued', 'dispatched', 'denied'].includes(status)),
  );
  for (const from of statuses) {
    for (const status of reportableStatuses) {
      const before = anExecution(from);
      const after = applied(before, { status }, later);
      const isAllowed = from === status || mayMove(from, status);
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
    applied(second, { status: 'partially_filled', fill: aFill('f2', 1, 104) }, later),
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

t.test('a total that lacks only a floating-point error is not backward', async (t) => {
  const working = anExecution('working', { quantity: 1, remainingQuantity: 1 });
  const first = report(working, 'partially_filled', { fill: aFill('f1', 0.7) });
  const filled = report(first, 'partially_filled', { fill: aFill('f2', 0.1) });
  t.equal(filled.filledQuantity, 0.8);
  t.match(
    report(filled, 'cancelled', { filledQuantity: 0.7 + 0.1 }),
    { status: 'cancelled', filledQuantity: 0.8, remainingQuantity: 0.2 },
    'its fills add up to more than its own total',
  );
  const totalled = report(working, 'partially_filled', { filledQuantity: 0.1 + 0.2 });
  t.match(
    report(totalled, 'expired', { filledQuantity: 0.3 }),
    { status: 'expired', filledQuantity: 0.1 + 0.2 },
    'its earlier total was the greater one, and no total decreases',
  );
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

t.test('a fill counts whatever total its own report names', async (t) => {
  const wrong = { filledQuantity: 0, remainingQuantity: 10, averageFillPrice: 1 };
  const working = anExecution('working');
  const native = { orderId: '7', state: 'Cancelled', code: null, text: null };
  const why = { reasonCode: 'cancelled_by_broker', native } as const;
  t.match(report(working, 'cancelled', { ...wrong, ...why, fill: aFill('f1', 4, 100) }), {
    status: 'cancelled',
    ...why,
    filledQuantity: 4,
    remainingQuantity: 6,
    averageFillPrice: 100,
  });
  t.match(report(working, 'cancelled', { ...wrong, fill: aFill('f1', 10, 100) }), {
    status: 'filled',
    filledQuantity: 10,
    remainingQuantity: 0,
    averageFillPrice: 100,
  });
});

t.test(
  'a report’s total corrects fills that are not listed, of which one may count twice',
  async (t) => {
    const fill = aFill('f2', 3);
    const listed = report(anExecution('working'), 'partially_filled', { fill: aFill('f1', 4) });
    const total = { status: 'partially_filled', filledQuantity: 4 } as const;
    const corrected = moves.report({ ...total, fill }, roomFor(1))(listed, later);
    t.match(corrected, { filledQuantity: 4, unlistedFills: { count: 1 } });
  },
);

t.test(
  'a repeated fill that is not listed and no longer known leaves the total as it is',
  async (t) => {
    const told = (filledQuantity: number, fillId: string): Move => {
      const fill = aFill(fillId, 1);
      return moves.report(
        { status: 'partially_filled', filledQuantity, fill },
        { listed: 1, ids: 4 },
      );
    };
    let order = anExecution('working');
    const tell = (filledQuantity: number, fillId: string): void => {
      order = told(filledQuantity, fillId)(order, later) ?? order;
    };
    for (let n = 1; n <= 8; n++) tell(n, `f${n}`);
    t.match(order, { filledQuantity: 8, remainingQuantity: 2 });
    for (let n = 2; n <= 4; n++) tell(n, `f${n}`);
    t.match(order, { status: 'partially_filled', filledQuantity: 8, remainingQuantity: 2 });
    tell(9, 'f9');
    t.match(order, { filledQuantity: 9, remainingQuantity: 1 });
    tell(0.5, 'f10');
    t.match(order, { filledQuantity: 13 }, 'a total without its own fill is none');
  },
);

t.test('a fill counts also where a total without fills came before it', async (t) => {
  const known = report(anExecution('working'), 'partially_filled', { filledQuantity: 7 });
  const after = report(known, 'filled', { fill: aFill('f1', 3) });
  t.equal(after.status, 'filled', 'the end of the order is not lost');
  t.equal(after.fills.length, 1);
  t.match(after, { filledQuantity: 10, remainingQuantity: 0 }, 'filled is the whole order');
  const working = report(known, 'partially_filled', { fill: aFill('f1', 3) });
  t.equal(working.filledQuantity, 7, 'never less than the terminal has said');
});

t.test('an order ends the same whether its last fill or its end is reported first', async (t) => {
  const whole = { status: 'filled', reasonCode: null, filledQuantity: 10, remainingQuantity: 0 };
  for (const status of ['cancelled', 'expired', 'unknown'] as const) {
    const filled = report(anExecution('working'), 'partially_filled', { fill: aFill('f1', 10) });
    t.match(report(filled, status, { reasonCode: 'no_quotes' }), whole, status);
    const ended = report(anExecution('working'), status);
    t.match(report(ended, 'partially_filled', { fill: aFill('f1', 10) }), whole, status);
  }
  const totalled = report(anExecution('working'), 'partially_filled', { filledQuantity: 10 });
  t.match(report(totalled, 'cancelled'), whole);
  const cancelled = report(anExecution('working'), 'cancelled', { filledQuantity: 3 });
  t.match(report(cancelled, 'cancelled', { filledQuantity: 10 }), whole);
});

t.test('an order for nothing, or for less, is not filled by that alone', async (t) => {
  for (const quantity of [0, -5]) {
    const order = { quantity, remainingQuantity: quantity };
    for (const status of ['rejected', 'expired', 'cancelled', 'unknown'] as const) {
      const told = { status, reasonCode: 'invalid_quantity' } as const;
      t.match(report(anExecution('working', order), status, told), told, `${quantity} ${status}`);
    }
    const cancel = aCancel('dispatched');
    const { cancelRequestId } = cancel;
    const evidence = { cancelRequestId, status: 'cancelled', reasonCode: null } as const;
    const working = anExecution('working', { ...order, cancel });
    t.match(moves.applyMove(working, cancelMoves.reportCancel(evidence), later), {
      status: 'cancelled',
      cancel: { status: 'cancelled' },
    });
    const late = report(anExecution('cancelled', order), 'working', { fill: aFill('f1', 1) });
    t.match(late, { status: 'cancelled', filledQuantity: 1 });
    t.equal(
      report(anExecution('working', order), 'filled').status,
      'filled',
      'its terminal says so',
    );
  }
});

t.test('a cancel of an order that is filled to its last part came too late', async (t) => {
  const cancel = aCancel('dispatched');
  const order = anExecution('partially_filled', { cancel, filledQuantity: 10 });
  const { cancelRequestId } = cancel;
  const evidence = { cancelRequestId, status: 'cancelled', reasonCode: null } as const;
  t.match(moves.applyMove(order, cancelMoves.reportCancel(evidence), later), {
    status: 'filled',
    reasonCode: null,
    cancel: { status: 'too_late', reasonCode: 'already_filled', acknowledged: true },
  });
});

t.test('the id and the state of an order stay known when a frame leaves them out', async (t) => {
  const native = { orderId: 'A1', state: 'Working', code: 7, text: 'ok' };
  const cancel = aCancel('dispatched');
  const order = report(anExecution('dispatched', { cancel }), 'working', { native });
  const told = { orderId: null, state: null, code: 2, text: null };
  const { cancelRequestId } = cancel;
  const evidence = { cancelRequestId, status: 'rejected', reasonCode: null, native: told } as const;
  t.strictSame(cancelMoves.reportCancel(evidence)(order, later)?.native, {
    ...native,
    code: 2,
    text: null,
  });
  const held = { ...told, state: 'Held' };
  const after = report(order, 'working', { native: held });
  t.strictSame(after.native, { ...held, orderId: 'A1' });
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
    t.equal(applied(execution, evidence, later), undefined);
  });
}

t.test('a repeated report is ignored, each new word in it is not', async (t) => {
  const native = { orderId: 'A1', state: 'Working', code: 7, text: 'ok' };
  const evidence: ExecutionReport = { status: 'working', native, reasonCode: 'price_changed' };
  const known = report(anExecution('dispatched'), 'working', evidence);
  t.equal(applied(known, evidence, later), undefined);
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
    t.ok(applied(known, { ...evidence, ...word }, later), JSON.stringify(word));
  }
});

t.test(
  'the first report confirms, also where it says what was known; later ones keep that time',
  async (t) => {
    const acknowledged = anExecution('submitted', { delivery: 'confirmed' });
    const confirmed = report(acknowledged, 'submitted');
    t.equal(confirmed.confirmedAt, later);
    const next = applied(confirmed, { status: 'working' }, later + 9);
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
  for (const quantity of [3, 0.5]) {
    const filled = applied({ ...order, quantity }, { status: 'filled' }, 2);
    const whole = { filledQuantity: quantity, remainingQuantity: 0, averageFillPrice: null };
    t.match(filled, whole);
  }
  const partly = report(order, 'partially_filled', { fill: aFill('f1', 1, 100) });
  t.match(report(partly, 'filled'), { filledQuantity: 3, remainingQuantity: 0 });
  t.match(report(order, 'filled', { fill: aFill('f1', 1, 100) }), {
    filledQuantity: 3,
    remainingQuantity: 0,
    averageFillPrice: null,
  });
  const closed = anExecution('submitted', { quantity: null, filledQuantity: null });
  t.match(applied(closed, { status: 'filled' }, 2), { filledQuantity: null });
});

t.test(
  'a terminal that says only filled of an order of unknown quantity leaves it unknown',
  (t) => {
    for (const quantity of [null, 0, -5]) {
      const order = anExecution('working', { quantity, remainingQuantity: quantity });
      const filled = report(order, 'filled');
      t.match(
        filled,
        { status: 'filled', filledQuantity: null, averageFillPrice: null },
        `${quantity}`,
      );
      t.equal(
        applied(filled, { status: 'filled' }, later),
        undefined,
        'the same again is nothing new',
      );
      t.match(report(filled, 'filled', { fill: aFill('f1', 2) }), { filledQuantity: 2 });
    }
    t.end();
  },
);

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
  for (const before of [close, { ...close, status: 'completed' } as const]) {
    const filled = report(before, 'working', { fill: aFill('f1', 0.5) });
    t.match(filled, { filledQuantity: 0.5, remainingQuantity: null, averageFillPrice: 100 });
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
          const after = applied(execution, each, later);
          if (after === undefined) continue;
          const isSame = after.status === execution.status;
          const isFilledUp =
            after.status === 'filled' &&
            (after.filledQuantity ?? 0) > (execution.filledQuantity ?? 0);
          assert(isSame || isFilledUp || mayMove(execution.status, after.status));
          assert((after.filledQuantity ?? 0) >= (execution.filledQuantity ?? 0));
          assert(after.fills.length >= execution.fills.length);
          const listed = after.fills.reduce((sum, { quantity }) => sum + quantity, 0);
          assert((after.filledQuantity ?? 0) >= listed, 'every fill counts');
          execution = after;
        }
        const reported = new Set(reports.flatMap(({ fill }) => fill?.fillId ?? []));
        assert.equal(execution.fills.length, reported.size, 'no fill is lost');
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
        execution = applied(execution, { status: 'partially_filled', fill }, later) ?? execution;
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
  const after = applied(execution, { ...evidence, status }, later);
  assert(after !== undefined, `${execution.status} → ${status} was ignored`);
  return after;
}

t.test('the end of the order ends its cancel, and nothing else does', async (t) => {
  for (const execution of Object.keys(executionStates) as ExecutionStatus[]) {
    const ending = cancelEnds[execution];
    for (const from of cancelStatuses) {
      const before = aCancel(from, { reasonCode: 'cancel_timeout' });
      const order = anExecution(execution, { cancel: before });
      const after = moves.applyMove(
        { ...order, status: 'queued' },
        () => ({ ...order, updatedAt: 99 }),
        99,
      )?.cancel;
      const isMoved =
        ending !== undefined && (cancelStates[from].next as readonly string[]).includes(ending[0]);
      const [status, reasonCode] = isMoved ? ending : [from, 'cancel_timeout'];
      t.match(after, { status, reasonCode }, `${from} when ${execution}`);
      t.equal(after?.updatedAt, isMoved ? 99 : before.updatedAt);
    }
  }
});

t.test('what may have been sent counts as sent, what was not does not', (t) => {
  const maybe = anExecution('queued', { maySend: true });
  t.match(moves.recover(maybe, 1), {
    status: 'dispatched',
    delivery: 'sent',
    dispatchedAt: maybe.createdAt,
  });
  const changed = { ...maybe, updatedAt: maybe.createdAt + 5 };
  t.equal(moves.recover(changed, 1)?.updatedAt, changed.updatedAt, 'no change goes back in time');
  const unsent = anExecution('queued', { maySend: false });
  t.equal(moves.recover(unsent, 1), undefined);
  const restored = { status: 'dispatched', delivery: 'sent', maySend: true };
  t.match(moves.recover(asOfCopy(unsent), 1), restored, 'after a restore, all may have been sent');
  t.equal(moves.recover(asOfCopy(anExecution('denied')), 1), undefined);
  const stopped = anExecution('dispatched', { maySend: false });
  t.equal(asOfCopy(stopped).maySend, false, 'what a stop has ended is not sent again');
  t.end();
});

t.test('a stop without a gateway denies what was not sent, and nothing that may have been', (t) => {
  const unsent = anExecution('queued');
  const maybe = anExecution('queued', { maySend: true });
  const stop = moves.recoverAndStop('account_frozen');
  t.match(stop(unsent, 1), {
    status: 'denied',
    reasonCode: 'account_frozen',
  });
  t.match(stop(maybe, 1), {
    status: 'dispatched',
    maySend: false,
  });
  t.end();
});

t.test('a cancel that was asked for counts as sent, one that is further on is left', (t) => {
  const cancel = aCancel('requested');
  t.match(moves.recover(anExecution('working', { cancel }), 1)?.cancel, {
    status: 'dispatched',
    dispatchedAt: cancel.requestedAt,
  });
  for (const status of ['dispatched', 'pending', 'rejected', 'unknown'] as const) {
    const execution = anExecution('working', { cancel: aCancel(status) });
    t.equal(moves.recover(execution, 1), undefined, status);
  }
  t.end();
});

/** Applies a report as the book does. */
function applied(execution: Execution, evidence: ExecutionReport, now: number) {
  return moves.applyMove(
    execution,
    moves.report(evidence, roomFor(limits.fillsPerExecution.value)),
    now,
  );
}

t.test('a fill that comes with a backward report is added in whatever state', async (t) => {
  for (const status of statuses.filter((each) => each !== 'queued' && each !== 'denied')) {
    const order = anExecution(status, {
      fills: [aFill('f1', 2, 100)],
      filledQuantity: 2,
      remainingQuantity: 8,
      averageFillPrice: 100,
    });
    const late = { status: 'submitted', fill: aFill('f2', 2, 104) } as const;
    if (mayMove(status, 'submitted') || status === 'submitted') continue;
    t.match(
      applied(order, late, later),
      {
        status,
        filledQuantity: 4,
        remainingQuantity: 6,
        averageFillPrice: 102,
        fills: [{ fillId: 'f1' }, { fillId: 'f2' }],
        delivery: 'confirmed',
        confirmedAt: later,
      },
      status,
    );
    t.equal(applied(order, { ...late, fill: aFill('f1', 2, 100) }, later), undefined, 'once');
  }
});

t.test('a late fill that leaves nothing makes the order filled', async (t) => {
  for (const status of ['cancelled', 'rejected', 'expired'] as const) {
    const order = anExecution(status, { cancel: aCancel('cancelled'), filledQuantity: 0 });
    const after = applied(order, { status: 'partially_filled', fill: aFill('f1', 10) }, later);
    t.match(
      after,
      { status: 'filled', reasonCode: null, remainingQuantity: 0, cancel: { status: 'too_late' } },
      status,
    );
  }
});

t.test('a fill that leaves nothing fills the order that its report ends', async (t) => {
  const fill = aFill('f1', 4);
  for (const status of ['cancelled', 'rejected', 'expired'] as const) {
    for (const before of [status, 'working'] as const) {
      const order = anExecution(before, {
        filledQuantity: 6,
        averageFillPrice: 99,
        cancel: aCancel('pending'),
      });
      t.match(
        applied(order, { status, filledQuantity: 10, reasonCode: 'cancelled_by_api', fill }, later),
        {
          status: 'filled',
          reasonCode: null,
          remainingQuantity: 0,
          cancel: { status: 'too_late' },
        },
        `${before} → ${status}`,
      );
    }
  }
});

t.test(
  'a cancelled order has the cause of its cancel, which its terminal does not know',
  async (t) => {
    const cause = 'cancel_after_expired';
    for (const reasonCode of [null, 'cancelled_by_api'] as const) {
      const order = anExecution('working', { cancel: { ...aCancel('pending'), cause } });
      const unknown = { ...order, status: 'unknown', reasonCode: 'confirmation_timeout' } as const;
      const told = reasonCode === null ? {} : { reasonCode };
      for (const before of [order, unknown]) {
        t.match(report(before, 'cancelled', told), { status: 'cancelled', reasonCode: cause });
      }
      const { cancelRequestId } = aCancel('pending');
      const cancel = { cancelRequestId, status: 'cancelled', reasonCode } as const;
      const byCancel = moves.applyMove(order, cancelMoves.reportCancel(cancel), later);
      assert(byCancel !== undefined);
      t.match(byCancel, { status: 'cancelled', reasonCode: cause, delivery: 'confirmed' });
      const again = applied(
        byCancel,
        { status: 'cancelled', reasonCode: 'cancelled_by_api' },
        later,
      );
      t.equal(again?.reasonCode ?? cause, cause, 'also when it is told again');
    }
    const uncancelled = report(anExecution('working'), 'cancelled', {
      reasonCode: 'cancelled_by_api',
    });
    t.match(uncancelled, { reasonCode: 'cancelled_by_api' }, 'without a cancel, what is told');
    const other = anExecution('working', { cancel: { ...aCancel('pending'), cause } });
    t.match(report(other, 'cancelled', { reasonCode: 'cancelled_by_broker' }), {
      reasonCode: 'cancelled_by_broker',
    });
  },
);

t.test('a late fill brings the total that its report tells', async (t) => {
  const order = anExecution('cancelled', { filledQuantity: 6, averageFillPrice: 99 });
  const fill = aFill('f1', 4, 104);
  const late = { status: 'partially_filled', filledQuantity: 10, fill } as const;
  t.match(applied(order, { ...late, averageFillPrice: 101 }, later), {
    status: 'filled',
    filledQuantity: 10,
    remainingQuantity: 0,
    averageFillPrice: 101,
  });
  t.match(applied(order, { ...late, filledQuantity: 8 }, later), {
    status: 'cancelled',
    filledQuantity: 8,
    remainingQuantity: 2,
    averageFillPrice: 99,
  });
});

t.test('a late fill leaves a filled order the reason that its terminal told', async (t) => {
  const told = { status: 'filled', reasonCode: 'price_changed', fill: aFill('f1', 10) } as const;
  const order = applied(anExecution('working'), told, later) ?? anExecution('working');
  t.match(order, { status: 'filled', reasonCode: 'price_changed' });
  const late = applied(order, { status: 'partially_filled', fill: aFill('f2', 1) }, later);
  t.match(late, { status: 'filled', reasonCode: 'price_changed', filledQuantity: 11 });
});

t.test('a late fill takes no average of another total than its own', async (t) => {
  const order = anExecution('cancelled', { filledQuantity: 6, averageFillPrice: 99 });
  const evidence = { status: 'working', filledQuantity: 2, averageFillPrice: 104 } as const;
  const after = applied(order, { ...evidence, fill: aFill('f1', 2, 104) }, later);
  t.match(after, { filledQuantity: 6, averageFillPrice: 99 });
});

t.test('a cancelled order keeps its reason where a repeat of its end tells none', async (t) => {
  const reasonCode = 'cancelled_by_broker';
  const cancel = aCancel('cancelled', { cause: 'cancel_after_expired' });
  const order = anExecution('cancelled', { reasonCode, cancel });
  const native = { orderId: 'A9', state: null, code: null, text: null };
  const after = applied(order, { status: 'cancelled', native }, later);
  t.match(after, { native, status: 'cancelled', reasonCode });
});

t.test('an order that ends otherwise is not said to have ended for the cancel', async (t) => {
  const cause = 'cancel_after_expired';
  const refused = anExecution('working', { cancel: aCancel('rejected', { cause }) });
  t.match(applied(refused, { status: 'cancelled' }, later), { reasonCode: null });
  const cancelling = anExecution('working', { cancel: aCancel('pending', { cause }) });
  for (const status of ['partially_filled', 'filled', 'rejected', 'expired', 'unknown'] as const) {
    t.match(applied(cancelling, { status }, later), { status, reasonCode: null });
  }
  const second = `${aCancel('dispatched').cancelRequestId.slice(0, -1)}2`;
  const cancel = aCancel('dispatched', { cause, attempt: 2, cancelRequestId: second });
  const order = anExecution('working', { cancel, confirmedAt: 7 });
  const { cancelRequestId } = aCancel('dispatched');
  const report = { status: 'cancelled', reasonCode: null } as const;
  const byFirst = cancelMoves.reportCancel({ ...report, cancelRequestId })(order, later);
  t.match(byFirst, { status: 'cancelled', reasonCode: 'cancelled_by_api', confirmedAt: 7 });
  const bySecond = cancelMoves.reportCancel({ ...report, cancelRequestId: second })(order, later);
  t.match(bySecond, { status: 'cancelled', reasonCode: cause });
});

t.test('a stop leaves alone what its terminal has acknowledged', async (t) => {
  const order = anExecution('working', { delivery: 'confirmed', maySend: true });
  t.equal(moves.stopSending('account_frozen')(order, later), undefined);
});

t.test('a late fill keeps the average of a total that was never listed', async (t) => {
  const order = anExecution('cancelled', { filledQuantity: 6, averageFillPrice: 99 });
  t.match(applied(order, { status: 'working', fill: aFill('f1', 2, 104) }, later), {
    status: 'cancelled',
    filledQuantity: 6,
    averageFillPrice: 99,
    fills: [{ fillId: 'f1' }],
  });
  const filling = anExecution('partially_filled', { filledQuantity: 6, averageFillPrice: 99 });
  t.match(applied(filling, { status: 'partially_filled', fill: aFill('f1', 2, 104) }, later), {
    filledQuantity: 6,
    averageFillPrice: 99,
  });
});

t.test('a report on a cancel moves it where the table lets it and nowhere else', async (t) => {
  const none = { cancelRequestId: 'can_other', status: 'rejected', reasonCode: null } as const;
  t.equal(cancelMoves.reportCancel(none)(anExecution('working'), later), undefined);
  for (const from of cancelStatuses) {
    for (const status of reportableCancelStatuses) {
      const { cancelRequestId } = aCancel(from);
      const order = anExecution('filled', { cancel: aCancel(from) });
      const evidence = { cancelRequestId, status, reasonCode: 'unable_to_cancel' } as const;
      const after = cancelMoves.reportCancel(evidence)(order, later)?.cancel;
      if (!(cancelStates[from].next as readonly string[]).includes(status)) {
        t.equal(after, undefined, `${from} → ${status}`);
      } else {
        t.match(after, { status, reasonCode: 'unable_to_cancel', updatedAt: later });
      }
    }
  }
});

/** The gateway's own moves: from which states each applies, and to which state it leads. */
const ownMoves: [name: string, move: Move, to: ExecutionStatus, from: ExecutionStatus[]][] = [
  ['dispatch', moves.dispatch, 'dispatched', ['queued']],
  ['deny', moves.deny('cancelled_by_api'), 'denied', ['queued']],
  ['expireUnsent', moves.expireUnsent, 'expired', statuses.filter((s) => mayMove(s, 'expired'))],
  [
    'becomeUnknown',
    moves.becomeUnknown('confirmation_timeout'),
    'unknown',
    statuses.filter((s) => mayMove(s, 'unknown')),
  ],
];
for (const [name, move, to, from] of ownMoves) {
  t.test(`${name} applies where the table lets it and nowhere else`, async (t) => {
    for (const status of statuses) {
      const after = moves.applyMove(anExecution(status), move, later);
      t.equal(after?.status, from.includes(status) ? to : undefined, status);
    }
  });
}

t.test('the gateway’s own moves of a cancel keep to its table', async (t) => {
  const own: [Move, CancelStatus][] = [
    [cancelMoves.dispatchCancel, 'dispatched'],
    [cancelMoves.dropCancel, 'not_sent'],
    [cancelMoves.timeOutCancel, 'unknown'],
  ];
  for (const [move, to] of own) {
    t.equal(move(anExecution('working'), later), undefined, 'without a cancel nothing moves');
    for (const from of cancelStatuses) {
      const after = move(anExecution('working', { cancel: aCancel(from) }), later)?.cancel;
      const isAllowed = (cancelStates[from].next as readonly string[]).includes(to);
      t.equal(after?.status, isAllowed ? to : undefined, `${from} → ${to}`);
    }
  }
});

t.test('an acknowledgement confirms the delivery once, and moves nothing back', async (t) => {
  for (const status of statuses) {
    const after = moves.acknowledge(anExecution(status), later);
    t.match(after, {
      status: status === 'dispatched' ? 'submitted' : status,
      delivery: 'confirmed',
    });
    t.equal(moves.acknowledge(after as Execution, later), undefined);
  }
});

t.test('an acknowledgement of an earlier cancel changes nothing', async (t) => {
  const order = anExecution('working', { cancel: aCancel('dispatched') });
  t.equal(cancelMoves.acknowledgeCancel('can_other')(order, later), undefined);
  const { cancelRequestId } = aCancel('dispatched');
  const after = cancelMoves.acknowledgeCancel(cancelRequestId)(order, later);
  t.match(after?.cancel, { status: 'pending', acknowledged: true });
  t.equal(cancelMoves.acknowledgeCancel(cancelRequestId)(after as Execution, later), undefined);
});
