import t from 'tap';
import { toSignalView } from '../../src/signals/signal-view.js';
import { acceptedSignal } from '../support/accepted-signal.js';
import { aCancel, aFill, anExecution } from './an-execution.js';

const { request } = acceptedSignal({ userId: 'u1' });

t.test('a signal’s status has the contract’s fields, in its order', async (t) => {
  const execution = anExecution('working', {
    fills: [aFill('f1', 1)],
    native: { orderId: 'A', state: null, code: 7, text: null },
    cancel: aCancel('pending'),
  });
  const view = toSignalView(request, [execution]);
  t.strictSame(
    Object.keys(view),
    `requestId signalId status acceptedAt expiresAt platform type cmd instanceId accountName
     executions`.split(/\s+/),
  );
  const [shown] = view.executions;
  t.strictSame(
    Object.keys(shown ?? {}),
    `executionId platform instanceId accountName status reasonCode delivery orderRef side
     executionType instrument quantity limitPrice filledQuantity remainingQuantity averageFillPrice
     fills native createdAt dispatchedAt confirmedAt updatedAt cancel`.split(/\s+/),
  );
  t.strictSame(Object.keys(shown?.fills[0] ?? {}), ['fillId', 'price', 'quantity', 'filledAt']);
  t.strictSame(Object.keys(shown?.native ?? {}), ['orderId', 'state', 'code', 'text']);
  t.strictSame(Object.keys(shown?.cancel ?? {}), [
    'cancelRequestId',
    'status',
    'reasonCode',
    'requestedAt',
    'updatedAt',
  ]);
});

t.test('what is not known is null, and times are ISO 8601 UTC', async (t) => {
  const [shown] = toSignalView(request, [anExecution('queued')]).executions;
  t.match(shown, {
    reasonCode: null,
    native: null,
    dispatchedAt: null,
    confirmedAt: null,
    cancel: null,
  });
  t.equal(shown?.createdAt, '2026-01-15T12:00:00.000Z');
  t.equal(toSignalView(request, []).expiresAt, '2026-01-15T12:05:00.000Z');
});

t.test('the account of a request is what the bot named; null in old records', async (t) => {
  t.equal(toSignalView(request, []).accountName, null);
  t.equal(toSignalView({ ...request, accountName: 'Sim101' }, []).accountName, 'Sim101');
});

t.test('a request is completed once every execution is final', async (t) => {
  const status = (...all: Parameters<typeof anExecution>[0][]) =>
    toSignalView(
      request,
      all.map((each) => anExecution(each)),
    ).status;
  t.equal(status('queued'), 'accepted');
  t.equal(status('filled', 'working'), 'accepted');
  t.equal(status('filled', 'unknown', 'denied'), 'completed');
});
