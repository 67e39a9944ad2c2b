import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { isFinalCancel } from '../../src/model/cancellation.js';
import { isCancellable, isFinal } from '../../src/model/execution.js';
import { turns, working } from '../support/simulated-gateway.js';
import { reportedCancels } from '../model/contract-states.js';

t.test('a cancel is on disk before its 202, and sent after that', async (t) => {
  const { gateway, plugin, id } = await working();
  const answers: (string | undefined)[] = [];
  gateway.core.cancels.accept(gateway.entry(id), 'k', 'cancel x', (body) => answers.push(body));
  t.strictSame([answers, plugin.of('cancel')], [[], []]);
  t.equal(gateway.keyState('cancel x'), 'request_in_progress');
  await turns();
  const cancelRequestId = `can${id.slice(3)}_1`;
  t.strictSame(JSON.parse(answers[0] ?? ''), {
    cancelRequestId,
    orderRef: `ord${id.slice(3)}`,
    executionId: id,
    requestId: `req_${id.slice(4, 30)}`,
    signalId: 's1',
    status: 'requested',
    requestedAt: '2026-01-15T12:00:00.000Z',
  });
  t.strictSame(plugin.of('cancel'), [
    { type: 'cancel', cancelRequestId, executionId: id, orderRef: `ord${id.slice(3)}` },
  ]);
  t.match(gateway.durable(id), { cancel: { status: 'dispatched', attempt: 1 } });
  t.match(
    gateway.idempotency.lookUp('u1', 'k', () => 'cancel x', gateway.clock.now()),
    {
      kind: 'replay',
      record: {
        answer: answers[0],
        requestId: `req_${id.slice(4, 30)}`,
        expiresAt: gateway.clock.now() + gateway.limits.idempotencyRetentionMs,
      },
    },
  );
  t.match(gateway.store.range('cancelKeys'), [{ key: ['u1', String], record: 'k' }]);
  await gateway.pass(3_000);
  t.equal(answers.length, 1, 'no deadline of its commit is left');
});

t.test(
  'a cancel whose commit hangs is answered in time, and in doubt after the stale time',
  async (t) => {
    const { gateway, id } = await working();
    const release = gateway.memory.hang();
    const answers: (string | undefined)[] = [];
    gateway.core.cancels.accept(gateway.entry(id), 'k', 'cancel', (body) => answers.push(body));
    await gateway.pass(3_000);
    t.strictSame([answers, gateway.keyState('cancel')], [[undefined], 'request_in_progress']);
    await gateway.pass(gateway.limits.staleProcessingMs - 3_000);
    t.equal(gateway.keyState('cancel'), 'idempotency_outcome_unknown');
    release();
    await turns();
    t.equal(gateway.keyState('cancel'), 'replay');
  },
);

t.test(
  'when the commit fails the outcome is unknown; it is stored and sent once it can be',
  async (t) => {
    const { gateway, plugin, id } = await working();
    gateway.memory.failNextCommits(2);
    const answers: (string | undefined)[] = [];
    gateway.core.cancels.accept(gateway.entry(id), 'k', 'cancel', (body) => answers.push(body));
    await turns();
    t.equal(answers[0], undefined);
    t.equal(answers.length, 1);
    t.equal(gateway.durable(id)?.cancel, null);
    t.equal(gateway.keyState('cancel'), 'idempotency_outcome_unknown');
    t.notOk(
      isFinalCancel(gateway.execution(id).cancel?.status ?? 'rejected'),
      'no second one beside it',
    );
    await gateway.pass(3_000, 1_000);
    t.equal(plugin.of('cancel').length, 1);
    t.equal(gateway.keyState('cancel'), 'replay');
  },
);

t.test('while the disk fails an order that ends is not cancelled afterwards', async (t) => {
  const { gateway, plugin, id } = await working();
  gateway.memory.failNextCommits(1);
  gateway.core.cancels.accept(gateway.entry(id), 'k', 'cancel', () => undefined);
  await turns();
  plugin.say({ type: 'report', seq: 2, executionId: id, status: 'filled', filledQuantity: 10 });
  await gateway.pass(2_000, 1_000);
  t.equal(plugin.of('cancel').length, 0);
  t.match(gateway.durable(id), { status: 'filled', cancel: { status: 'too_late' } });
});

t.test(
  'without confirmation within 30 s a cancel is unknown, the order stays as it is',
  async (t) => {
    const { gateway, plugin, id } = await working();
    const cancelRequestId = await gateway.cancel(id);
    plugin.say({ type: 'ack', cancelRequestId });
    await gateway.pass(29_999);
    t.match(gateway.durable(id), { cancel: { status: 'pending' } });
    await gateway.pass(1);
    t.match(gateway.durable(id), {
      status: 'working',
      cancel: { status: 'unknown', reasonCode: 'cancel_timeout' },
    });
  },
);

t.test('an acknowledgement after the 30 s gives the cancel 30 s more', async (t) => {
  const { gateway, plugin, id } = await working();
  const cancelRequestId = await gateway.cancel(id);
  await gateway.pass(30_000);
  t.match(gateway.durable(id), { cancel: { status: 'unknown' } });
  plugin.say({ type: 'ack', cancelRequestId });
  await gateway.pass(29_999);
  t.match(gateway.durable(id), { cancel: { status: 'pending' } });
  await gateway.pass(1);
  t.match(gateway.durable(id), { cancel: { status: 'unknown' } });
});

t.test('however fill and cancel race, one of them wins, and every record agrees', async () => {
  const statuses = [
    'working',
    'partially_filled',
    'filled',
    'cancelled',
    'rejected',
    'expired',
    'unknown',
  ];
  const step = fc.oneof(
    {
      weight: 3,
      arbitrary: fc
        .constantFrom(...statuses)
        .map((status) => ({ kind: 'report' as const, status })),
    },
    {
      weight: 3,
      arbitrary: fc
        .tuple(fc.constantFrom(...reportedCancels), fc.integer({ min: 1, max: 3 }))
        .map(([status, attempt]) => ({ kind: 'cancel_report' as const, status, attempt })),
    },
    {
      weight: 3,
      arbitrary: fc
        .constantFrom(
          'cancel' as const,
          'ack' as const,
          'reconnect' as const,
          'restart' as const,
          'fail' as const,
        )
        .map((kind) => ({ kind })),
    },
    {
      weight: 2,
      arbitrary: fc.constantFrom(1, 29_999, 30_000).map((ms) => ({ kind: 'pass' as const, ms })),
    },
    { weight: 2, arbitrary: fc.constant({ kind: 'turn' as const }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const start = await working();
      const { id } = start;
      let { gateway, plugin } = start;
      let seq = 1;
      let wasFilled = false;
      for (const each of steps) {
        const before = gateway.execution(id);
        if (each.kind === 'report') {
          plugin.say({ type: 'report', seq: ++seq, executionId: id, status: each.status });
        } else if (each.kind === 'cancel_report') {
          const cancelRequestId = `can${id.slice(3)}_${each.attempt}`;
          plugin.say({ type: 'cancel_report', seq: ++seq, cancelRequestId, status: each.status });
        } else if (each.kind === 'cancel') {
          const { cancel } = before;
          if (isCancellable(before) && (cancel === null || isFinalCancel(cancel.status))) {
            gateway.core.cancels.accept(gateway.entry(id), `k${++seq}`, 'f', () => undefined);
          }
        } else if (each.kind === 'ack') {
          plugin.say({ type: 'ack', cancelRequestId: `can${id.slice(3)}_1` });
        } else if (each.kind === 'reconnect') {
          plugin = gateway.connect();
          plugin.hello();
        } else if (each.kind === 'restart') {
          await gateway.pass(1_000);
          gateway = gateway.restart();
          // A fill that did not reach the disk was not acknowledged: a plugin reports it again.
          wasFilled = gateway.execution(id).status === 'filled';
          plugin = gateway.connect();
          plugin.hello();
        } else if (each.kind === 'fail') gateway.memory.failNextCommits(1);
        else if (each.kind === 'pass') await gateway.pass(each.ms);
        else await turns(1);
        const { status, cancel } = gateway.execution(id);
        wasFilled ||= status === 'filled';
        if (wasFilled) assert.equal(status, 'filled', 'a fill is never undone');
        if (status === 'filled' && cancel !== null) {
          assert.notEqual(cancel.status, 'cancelled', 'filled and cancelled');
          assert(isFinalCancel(cancel.status), 'a cancel is open on a filled order');
        }
        if (cancel?.status === 'cancelled') assert.notEqual(status, 'working');
        if (isFinal(status) && status !== 'unknown' && cancel !== null) {
          assert(isFinalCancel(cancel.status), `${cancel.status} on ${status}`);
        }
      }
      await gateway.pass(2_000, 1_000);
      const { status, cancel } = gateway.execution(id);
      assert.deepEqual(gateway.durable(id), gateway.execution(id), 'the disk has caught up');
      if (cancel !== null && !isFinalCancel(cancel.status)) {
        await gateway.pass(60_000, 30_000);
        assert(isFinalCancel(gateway.execution(id).cancel?.status ?? 'requested'));
      } else if (isFinal(status) && status !== 'unknown') assert.equal(gateway.book.size, 0);
    }),
    { numRuns: 300, interruptAfterTimeLimit: 40_000 },
  );
});
