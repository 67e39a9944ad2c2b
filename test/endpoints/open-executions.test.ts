/** What a user holds open is bounded: each open execution stays in memory, and one user must not take all of it. */
import t from 'tap';
import { report, tell } from '../support/frames.js';
import { startTestGateway } from '../support/gateway.js';

const gateway = await startTestGateway(t, { limits: { openExecutionsPerUser: 2 }, users: 2 });

t.test('beyond so many open executions of a user, new ones are denied', async (t) => {
  const ann = await gateway.user();
  const terminal = await gateway.plugin(ann);
  const orders = [await gateway.order(ann, terminal), await gateway.order(ann, terminal)];
  const denied = await gateway.submit(ann);
  const { status, executions } = await gateway.read(ann, denied);
  t.equal(status, 'completed');
  t.match(executions, [{ status: 'denied', reasonCode: 'too_many_executions' }]);

  const bob = await gateway.user();
  await gateway.order(bob, await gateway.plugin(bob));
  t.pass('another user’s are sent');

  for (const [n, { executionId }] of orders.entries())
    await tell(terminal, report(n + 1, executionId, 'cancelled'));
  const { requestId } = await gateway.order(ann, terminal);
  t.not(requestId, denied, 'once they are final, the next one is sent');
});
