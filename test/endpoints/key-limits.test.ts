/** The limits of an API key on a running gateway: their form, and each at its bound and beyond. */
import t from 'tap';
import { keyLimitsRequestSchema } from '../../src/auth/key-limits.js';
import { bearer, call, createKey, get, post, signal, submit, verdict } from '../support/api.js';
import { until } from '../support/eventually.js';
import { startTestGateway } from '../support/gateway.js';

const gateway = await startTestGateway(t, { config: { trustProxy: ['127.0.0.1'] } });
const { url } = gateway;
const sources = '/api/v1/terminal-events/sources';

async function limited(limits: object) {
  const user = await gateway.user();
  const { key, id } = await createKey(url, user.token, { limits });
  return { ...user, key, keyId: id };
}
const order = (payload: object = {}, fields: object = {}) =>
  signal({ payload: { instrument: 'ES', quantity: 1, ...payload }, ...fields });
const detailsOf = (answer: { readonly body: any }) => answer.body.error.details;

t.test('a key shows its limits wherever it is shown, and null where it has none', async (t) => {
  const { token, keyId, email } = await gateway.user();
  const limits = { allowedIps: ['192.0.2.0/24'], maxOrderQuantity: 0.5, maxOpenOrders: 2 };
  const made = await post(
    url,
    '/api/api-keys',
    { name: 'n', scopes: ['signals:read'], limits },
    token,
  );
  t.same(made.body.limits, limits);
  const shown = (keys: any[]) => keys.map((each) => [each.id, each.limits]);
  const expected = [
    [keyId, null],
    [made.body.id, limits],
  ];
  t.same(shown((await get(url, '/api/api-keys', token)).body), expected);
  t.same(shown(JSON.parse(await gateway.command('key', 'list', email, '--json'))), expected);
  const add = [
    'key',
    'add',
    email,
    '--name',
    'o',
    '--scopes',
    'signals:read',
    '--json',
    '--limits',
  ];
  const byOperator = JSON.parse(await gateway.command(...add, '{"maxOpenOrders":3}'));
  t.same(byOperator.limits, { maxOpenOrders: 3 });
  await t.rejects(
    gateway.command(...add, '{"maxOpenOrders":0}'),
    /limits\.maxOpenOrders \(out_of_range\)/,
  );
  const help = (await gateway.command('key', 'add', '--help')).replaceAll(/\s+/g, ' ');
  for (const name of Object.keys(keyLimitsRequestSchema.properties)) t.match(help, name);
  await t.rejects(gateway.command(...add, 'maxOpenOrders'), /must be JSON/);
  await t.rejects(
    gateway.command(...add, '{"maxOpenOrders":1,"maxOpenOrders":9}'),
    /"maxOpenOrders" is given more than once/,
  );
});

t.test('bad limits are refused, each named', async (t) => {
  const { token } = await gateway.user();
  const limits = { allowedIps: ['host'], maxOrdersPerSecond: 1001, maxLoss: 1 };
  const answer = await post(
    url,
    '/api/api-keys',
    { name: 'n', scopes: ['signals:read'], limits },
    token,
  );
  t.equal(verdict(answer), '400 invalid_limits');
  t.same(answer.body.errors, [
    { field: 'limits.allowedIps', code: 'invalid_address' },
    { field: 'limits.maxOrdersPerSecond', code: 'out_of_range' },
    { field: 'limits.maxLoss', code: 'unknown_field' },
  ]);
});

t.test(
  'a key works from its addresses alone; behind a trusted proxy the client’s counts',
  async (t) => {
    const { key } = await limited({ allowedIps: ['192.0.2.0/24', '2001:db8::7'] });
    const from = (address: string) =>
      call(url, 'GET', sources, { headers: { ...bearer(key), 'x-forwarded-for': address } });
    for (const address of [
      '192.0.2.9',
      '::ffff:192.0.2.9',
      '2001:db8::7',
      '203.0.113.9, 192.0.2.9',
    ]) {
      t.equal((await from(address)).status, 200, address);
    }
    for (const address of ['203.0.113.9', '2001:db8::8', '192.0.2.9, 203.0.113.9']) {
      const answer = await from(address);
      t.equal(verdict(answer), '403 address_not_allowed', address);
      t.match(
        answer.headers.get('ratelimit'),
        /r=(119[6-9]|1200);/,
        'it takes nothing from the rate of the key',
      );
    }
    t.equal(verdict(await get(url, sources, key)), '403 address_not_allowed', 'the proxy itself');
    t.equal(verdict(await submit(url, key, '{')), '403 address_not_allowed');
    const own = await limited({ allowedIps: ['127.0.0.1'] });
    t.equal((await get(url, sources, own.key)).status, 200);
  },
);

t.test('instrument and quantity are held to the limits, a retry is not judged again', async (t) => {
  const { key } = await limited({ allowedInstruments: ['ES'], maxOrderQuantity: 2 });
  const body = order({ quantity: 2 });
  t.equal((await submit(url, key, body, 'within')).status, 202);
  t.equal((await submit(url, key, body, 'within')).headers.get('idempotent-replayed'), 'true');
  const above = await submit(url, key, { ...body, payload: { instrument: 'NQ', quantity: 2.01 } });
  t.equal(verdict(above), '403 risk_limit_exceeded', 'before duplicate_signal_id');
  t.same(detailsOf(above), [
    { field: 'payload.instrument', code: 'instrument_not_allowed' },
    { field: 'payload.quantity', code: 'above_limit' },
  ]);
  const twice = JSON.stringify(order()).replace('"quantity":1', '"quantity":9,"quantity":1');
  t.same(detailsOf(await submit(url, key, twice)), [
    { field: 'payload.quantity', code: 'unreadable' },
  ]);
  t.equal(
    verdict(await submit(url, key, { ...order({ quantity: 9 }), v: 2 })),
    '422 invalid_signal',
  );
  t.equal((await submit(url, key, order({ quantity: 9 }, { cmd: 'other' }))).status, 202);
});

t.test('the open orders of a key are counted per terminal, until they are final', async (t) => {
  const user = await limited({ maxOpenOrders: 2 });
  const plugin = await gateway.plugin(user);
  const second = await gateway.plugin(user, { instanceId: 'desk-2' });
  const one = { instanceId: 'desk-1' };
  // Sent at once: orders that are under way count, too.
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => submit(url, user.key, order({}, one))),
  );
  t.equal(answers.filter(({ status }) => status === 202).length, 2);
  const refused = answers.find(({ status }) => status !== 202);
  t.same(refused?.body.error.details, [{ field: '$', code: 'too_many_open_orders' }]);
  t.equal((await submit(url, user.key, order({}, { ...one, cmd: 'other' }))).status, 202);

  const first = await plugin.next('submit');
  plugin.send({ type: 'report', seq: 1, executionId: first['executionId'], status: 'cancelled' });
  const isFree = ({ status }: { status: number }) => status === 202;
  const both = await submit(url, user.key, order());
  t.equal(verdict(both), '403 risk_limit_exceeded', 'two executions where one is free');
  const next = await until(
    () => submit(url, user.key, order({}, { instanceId: 'desk-2' })),
    isFree,
  );
  t.equal(next.status, 202);
  await second.next('submit');

  await gateway.restart('SIGKILL');
  const after = await submit(gateway.url, user.key, order({}, one));
  t.equal(verdict(after), '403 risk_limit_exceeded', 'a restart counts anew');
});
