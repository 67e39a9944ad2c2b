import t from 'tap';
import { createKey, futuresDesk, logIn, openTerminal } from '../../src/demo/cast.js';
import { startFakeApi } from '../support/fake-api.js';
import { startFakeGateway } from '../support/fake-gateway.js';

t.test('the demo sends again what a hanging disk made the gateway refuse', async (t) => {
  const api = await startFakeApi();
  t.teardown(() => api.close());
  const refused = { status: 503, headers: { 'retry-after': '0' }, body: {} };
  api.play(refused, refused, { status: 200, body: { token: 'a token' } });
  t.match(await logIn(api.baseUrl, 'a password'), { token: 'a token' });
  api.play({ status: 200, body: [] }, refused, { status: 201, body: { key: 'a key' } });
  t.equal(await createKey(api.baseUrl, 'a token'), 'a key');
});

t.test('a terminal of the demo that the gateway refuses is a failure', async (t) => {
  const gateway = await startFakeGateway();
  t.teardown(() => gateway.close());
  gateway.status = 401;
  await t.rejects(openTerminal(gateway.url, 'sbs_token', futuresDesk), { message: /401/ });
});
