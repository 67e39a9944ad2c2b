/** How often a user may cancel all of its orders. */
import t from 'tap';
import { bearer, call, json, verdict } from '../support/api.js';
import { startTestGateway } from '../support/gateway.js';

const gateway = await startTestGateway(t, { limits: { cancelAllsPerMinute: 2 }, users: 2 });
let keys = 0;

function cancelAll(user: { key: string }, key = `a${++keys}`, body = '{}') {
  const headers = { ...bearer(user.key), 'idempotency-key': key, ...json };
  return call(gateway.url, 'POST', '/api/v1/orders/cancel-all', { headers, body });
}

t.test('a user has so many in a minute; a replay and a refusal take none', async (t) => {
  const user = await gateway.user();
  const invalid = '{"quantity":1}';
  t.equal(verdict(await cancelAll(user, 'bad', invalid)), '422 invalid_filter');
  const first = await cancelAll(user, 'first');
  t.equal(first.status, 202);
  t.equal((await cancelAll(user, 'first')).text, first.text);
  t.equal((await cancelAll(user)).status, 202);
  const beyond = await cancelAll(user, 'beyond');
  t.equal(verdict(beyond), '429 api_rate_limited');
  const seconds = Number(beyond.headers.get('retry-after'));
  t.ok(seconds >= 1 && seconds <= 60, `${seconds} s`);
  t.equal(verdict(await cancelAll(user, 'beyond', invalid)), '422 invalid_filter', 'told before');
  t.equal((await cancelAll(user, 'first')).text, first.text, 'a replay is free');
  t.equal((await cancelAll(await gateway.user())).status, 202, 'another user has its own');
});
