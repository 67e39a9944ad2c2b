/** What the records of a signal and of a cancel keep of the requests that made them. */
import t from 'tap';
import { openStore } from '../../src/store/lmdb-store.js';
import { bearer, call, json, signal } from '../support/api.js';
import { startTestGateway } from '../support/gateway.js';

t.test('a signal and a cancel keep key, trace id and client address', async (t) => {
  const gateway = await startTestGateway(t, { flags: ['--trust-proxy', '127.0.0.1'], users: 1 });
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const post = (path: string, idempotencyKey: string, trace: string, address: string, body = {}) =>
    call(gateway.url, 'POST', path, {
      headers: {
        ...json,
        ...bearer(user.key),
        'idempotency-key': idempotencyKey,
        traceparent: `00-${trace}-00f067aa0ba902b7-01`,
        'x-forwarded-for': address,
      },
      body: JSON.stringify(body),
    });

  const [submitted, cancelled] = ['a'.repeat(32), 'b'.repeat(32)];
  const answer = await post('/api/v1/signals', 'k1', submitted, '2001:db8::7', signal());
  t.equal(answer.status, 202, answer.text);
  const { requestId } = answer.body;
  const { executionId, orderRef } = await plugin.next('submit', { requestId });
  plugin.send({ type: 'ack', executionId });
  await gateway.becomes(user, requestId, 'submitted');
  const cancel = await post(`/api/v1/orders/${orderRef}/cancel`, 'k2', cancelled, '192.0.2.9');
  t.equal(cancel.status, 202, cancel.text);
  await plugin.next('cancel');
  plugin.close();
  await gateway.process.stop();

  const store = openStore(gateway.dataDir);
  const [request] = store.range('requests');
  const { keyId } = user;
  t.match(request?.record, { keyId, traceId: submitted, clientAddress: '2001:db8::7' });
  const [execution] = store.range('openExecutions');
  t.equal(execution?.record.keyId, keyId);
  t.match(execution?.record.cancel, { keyId, traceId: cancelled, clientAddress: '192.0.2.9' });
  await store.close();
});
