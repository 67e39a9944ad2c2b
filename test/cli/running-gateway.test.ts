import t, { type Test } from 'tap';
import { bearer, call, createKey, login } from '../support/api.js';
import { dataDirOf } from '../support/gateway.js';
import {
  addUser,
  type GatewayProcess,
  password,
  startGateway,
} from '../support/gateway-process.js';
import { signalboxIn } from '../support/in-process.js';

const ann = 'ann@example.com';

interface Running {
  readonly dataDir: string;
  readonly gateway: GatewayProcess;
  readonly token: string;
  readonly key: string;
  readonly id: number;
  /** Status and code of a request with the key. */
  readonly read: () => Promise<string>;
}

async function running(t: Test): Promise<Running> {
  const dataDir = dataDirOf(t);
  await addUser(dataDir, ann);
  const gateway = await startGateway({ dataDir });
  t.teardown(() => gateway.kill());
  const { token } = await login(gateway.url, ann);
  const { key, id } = await createKey(gateway.url, token, { name: 'desk \u001b[2J' });
  const read = async (): Promise<string> => {
    const { status, body } = await call(gateway.url, 'GET', '/api/v1/signals/req_none', {
      headers: bearer(key),
    });
    return `${status} ${body.error.code}`;
  };
  return { dataDir, gateway, token, key, id, read };
}

t.test(
  'the switch of the Public API holds in a running gateway when the command ends',
  async (t) => {
    const { dataDir, read } = await running(t);
    t.equal(await read(), '404 request_not_found');
    t.match(await signalboxIn(dataDir, ['api', 'disable']), { code: 0, stdout: /disabled/ });
    t.equal(await read(), '503 public_api_disabled');
    const enabled = await signalboxIn(dataDir, ['api', 'enable', '--json']);
    t.same(JSON.parse(enabled.stdout), { publicApiEnabled: true });
    t.equal(await read(), '404 request_not_found');
  },
);

t.test('keys are listed without their secret, and revoked at once', async (t) => {
  const { dataDir, key, id, read } = await running(t);
  const list = await signalboxIn(dataDir, ['key', 'list', ann]);
  t.match(list, { code: 0, stdout: /^ID +NAME +KEY +SCOPES/ });
  t.match(list.stdout, /desk \?\[2J/, 'a name cannot write to the terminal');
  const listed = await signalboxIn(dataDir, ['key', 'list', ann, '--json']);
  t.match(JSON.parse(listed.stdout), [
    { id, name: 'desk \u001b[2J', displayPrefix: /^svc_api_.*\.\.\.$/ },
  ]);
  t.notOk((list.stdout + listed.stdout).includes(key.slice(0, 20)));

  const revoked = await signalboxIn(dataDir, ['key', 'revoke', `${id}`, '--json']);
  t.match(JSON.parse(revoked.stdout), { id, email: ann, revoked: true });
  t.equal(await read(), '401 invalid_api_key');
  t.match(
    await signalboxIn(dataDir, ['key', 'revoke', `${id}`]),
    { code: 0, stdout: /is revoked/ },
    'again',
  );
  t.match(await signalboxIn(dataDir, ['key', 'list', ann]), { code: 0, stdout: /has no API keys/ });
  t.match(await signalboxIn(dataDir, ['key', 'revoke', '999']), {
    code: 1,
    stderr: /no API key 999/,
  });
  for (const wrong of ['x', '-1', '1.5', '0x1', '1'.repeat(30)]) {
    t.equal((await signalboxIn(dataDir, ['key', 'revoke', '--', wrong])).code, 2, wrong);
  }
});

t.test('a plan that is taken away and a deletion hold when the command ends', async (t) => {
  const { dataDir, gateway, token, read } = await running(t);
  await signalboxIn(dataDir, ['user', 'set', ann, '--plan', 'basic']);
  t.equal(await read(), '403 business_plan_required');
  await signalboxIn(dataDir, ['user', 'set', ann, '--plan', 'business']);
  t.equal(await read(), '404 request_not_found');
  await signalboxIn(dataDir, ['user', 'delete', ann]);
  t.equal(await read(), '401 invalid_api_key');
  const keys = await call(gateway.url, 'GET', '/api/api-keys', { headers: bearer(token) });
  t.equal(keys.status, 401);
});

t.test('a new password counts at once, and ends the logins of the old one', async (t) => {
  const { dataDir, gateway, token } = await running(t);
  await signalboxIn(dataDir, ['user', 'set', ann, '--password-stdin'], `${password} two\n`);
  await t.rejects(login(gateway.url, ann), /401/);
  const keys = await call(gateway.url, 'GET', '/api/api-keys', { headers: bearer(token) });
  t.equal(keys.status, 401);
});

t.test('revoked sessions are told of', async (t) => {
  const { dataDir } = await running(t);
  const revoked = await signalboxIn(dataDir, ['session', 'revoke', ann, '--json']);
  t.match(JSON.parse(revoked.stdout), { email: ann, sessionsRevoked: true });
  t.match(await signalboxIn(dataDir, ['session', 'revoke', ann]), {
    code: 0,
    stdout: /need a new login/,
  });
});
