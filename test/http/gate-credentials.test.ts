/** No forged user token and no altered API key opens anything; test/security/doors.test.ts has the genuine ones. */
import { createHmac, generateKeyPairSync, sign as signWith } from 'node:crypto';
import { join } from 'node:path';
import t from 'tap';
import { WallClock } from '../harness/time/wall-clock.js';
import { bearer, call, get, login, verdict } from '../support/api.js';
import { rawCall } from '../support/raw-client.js';
import { startTestGateway } from '../support/gateway.js';
import { socketFolder } from '../support/socket-folder.js';

const secret = 'a-secret-of-the-test-that-is-long-enough-to-be-one';
const environment = { SIGNALBOX_JWT_SECRET: secret };
const gateway = await startTestGateway(t, { environment });
const keys = '/api/api-keys';
const sources = '/api/v1/terminal-events/sources';
const user = await gateway.user();

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const decode = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());
const [head = '', claims = '', signature = ''] = user.token.split('.');

function forge(
  changedHead: object,
  changedClaims: object,
  hash: string | undefined,
  key = secret,
): string {
  const text = `${encode({ ...decode(head), ...changedHead })}.${encode({ ...decode(claims), ...changedClaims })}`;
  const mac = hash === undefined ? '' : createHmac(hash, key).update(text).digest('base64url');
  return `${text}.${mac}`;
}

t.test(
  'the way in which these forgeries are made gives a valid token when nothing is forged',
  async (t) => {
    t.equal((await get(gateway.url, keys, forge({}, {}, 'sha256'))).status, 200);
  },
);

t.test('no forged user token opens the key endpoints', async (t) => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const rsaText = `${encode({ ...decode(head), alg: 'RS256' })}.${claims}`;
  const publicPem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const stranger = await gateway.user();
  const strangerClaims = decode(stranger.token.split('.')[1] ?? '');
  const past = Date.now() - 1000;
  // oxfmt-ignore
  const forgeries: Record<string, string> = {
    'no algorithm': forge({ alg: 'none' }, {}, undefined),
    'no algorithm, in other letters': forge({ alg: 'NoNe' }, {}, undefined),
    'no algorithm, signature kept': `${encode({ ...decode(head), alg: 'none' })}.${claims}.${signature}`,
    'another key': forge({}, {}, 'sha256', 'another-secret-that-is-also-long-enough'),
    'an empty key': forge({}, {}, 'sha256', ''),
    'HS384 with the right secret': forge({ alg: 'HS384' }, {}, 'sha384'),
    'HS512 with the right secret': forge({ alg: 'HS512' }, {}, 'sha512'),
    'RS256 with a key of the attacker': `${rsaText}.${signWith('sha256', Buffer.from(rsaText), privateKey).toString('base64url')}`,
    'HS256 with a public key as secret': forge({}, {}, 'sha256', publicPem),
    'a key of the attacker in the header': forge({ jwk: publicKey.export({ format: 'jwk' }) }, {}, 'sha256', publicPem),
    'claims changed under the old signature': `${head}.${encode({ ...decode(claims), sub: strangerClaims.sub })}.${signature}`,
    'expired': forge({}, { exp: Math.floor(past / 1000), until: past }, 'sha256'),
    'no end': forge({}, { exp: undefined, until: undefined }, 'sha256'),
    'an unknown user': forge({}, { sub: 'usr_00000000000000000000000000' }, 'sha256'),
    'no user': forge({}, { sub: undefined }, 'sha256'),
    'a user that is an object': forge({}, { sub: {} }, 'sha256'),
    'another audience': forge({}, { aud: 'other' }, 'sha256'),
    'another type': forge({ typ: 'JWT' }, {}, 'sha256'),
    'an older generation': forge({}, { gen: 0 }, 'sha256'),
    'no signature': `${head}.${claims}.`,
    'two parts': `${head}.${claims}`,
    'four parts': `${user.token}.${signature}`,
    'a signature cut short': user.token.slice(0, -1),
    'another text for the same signature': sameSignature(user.token),
    'a space inside': `${head}. ${claims}.${signature}`,
    'nonsense': 'nonsense',
    'dots alone': '..',
    'a long text': 'x'.repeat(2_000),
  };
  for (const [name, token] of Object.entries(forgeries)) {
    const answer = await get(gateway.url, keys, token);
    t.equal(verdict(answer), '401 invalid_token', name);
    t.same(Object.keys(answer.body), ['code', 'message'], name);
  }
});

t.test('a user token ends with its lifetime', async (t) => {
  const clock = new WallClock(join(socketFolder(t), 'clock'));
  const userTokenLifetimeMs = 3_600_000;
  const short = await startTestGateway(t, {
    limits: { userTokenLifetimeMs },
    environment: clock.environment,
  });
  const { token } = await short.user();
  await clock.set(userTokenLifetimeMs / 2);
  t.equal((await get(short.url, keys, token)).status, 200);
  await clock.set(userTokenLifetimeMs);
  t.equal(verdict(await get(short.url, keys, token)), '401 invalid_token');
});

t.test('tokens survive a restart, because the secret does', async (t) => {
  const { token } = await gateway.user();
  await gateway.restart('SIGTERM');
  t.equal((await get(gateway.url, keys, token)).status, 200);
});

t.test('no altered API key opens the Public API', async (t) => {
  const { key } = user;
  // oxfmt-ignore
  const wrong: Record<string, string> = {
    'a key with another end': key.slice(0, -1) + (key.endsWith('A') ? 'B' : 'A'),
    'a key cut short': key.slice(0, -1),
    'a key with more': `${key}x`,
    'a key without its prefix': key.slice('svc_api_'.length),
    'a key in capitals': key.toUpperCase(),
    'the prefix alone': 'svc_api_',
    'a long text': `svc_api_${'x'.repeat(2_000)}`,
    'a name of a prototype': '__proto__',
  };
  for (const [name, credential] of Object.entries(wrong)) {
    const answer = await get(gateway.url, sources, credential);
    t.equal(verdict(answer), '401 invalid_api_key', name);
    t.same(Object.keys(answer.body), ['error'], name);
    t.equal(answer.headers.get('ratelimit'), null, name);
  }
});

t.test('exactly one Authorization header of the form Bearer is a credential', async (t) => {
  // oxfmt-ignore
  const rows: [lines: string[], status: number][] = [
    [[], 401],
    [['Authorization:'], 401],
    [['Authorization: Bearer'], 401],
    [['Authorization: Bearer '], 401],
    [[`Authorization: ${user.key}`], 401],
    [[`Authorization: Basic ${Buffer.from(`user:${user.key}`).toString('base64')}`], 401],
    [[`Authorization: Bearer${user.key}`], 401],
    [[`Authorization: Bearer ${user.key}, Bearer ${user.key}`], 401],
    [[`Authorization: Bearer ${user.key}`, `Authorization: Bearer ${user.key}`], 401],
    [[`Authorization: Bearer x`, `Authorization: Bearer ${user.key}`], 401],
    [[`Authorization: Bearer ${user.key}`], 200],
    [[`AUTHORIZATION: bearer ${user.key}`], 200],
    [[`authorization: BEARER ${user.key}`], 200],
  ];
  for (const [lines, status] of rows) {
    const answer = await rawCall(gateway.url, 'GET', sources, lines);
    t.equal(answer?.status, status, JSON.stringify(lines).slice(0, 60));
  }
});

t.test('401 names the scheme that is wanted', async (t) => {
  for (const path of [keys, sources]) {
    const answer = await get(gateway.url, path);
    t.match(answer.headers.get('www-authenticate'), /^Bearer/);
  }
});

t.test('ended sessions leave user token and API key alone', async (t) => {
  const other = await gateway.user();
  await gateway.command('session', 'revoke', other.email);
  t.equal((await get(gateway.url, keys, other.token)).status, 200);
  t.equal((await get(gateway.url, sources, other.key)).status, 200);
  t.ok((await login(gateway.url, other.email)).token);
});

t.test('login needs no credential and is not disturbed by a wrong one', async (t) => {
  const answer = await call(gateway.url, 'POST', '/api/auth/login', {
    headers: { 'content-type': 'application/json', ...bearer('nonsense') },
    body: JSON.stringify({ email: user.email, password: 'correct horse' }),
  });
  t.equal(answer.status, 200);
});

/** The last character of a signature has bits to spare: another one that decodes to the same bytes. */
function sameSignature(token: string): string {
  const bytes = Buffer.from(token.slice(token.lastIndexOf('.') + 1), 'base64url');
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const stem = token.slice(0, -1);
  const other = alphabet.split('').find((letter) => {
    const text = stem + letter;
    return (
      text !== token &&
      Buffer.from(text.slice(text.lastIndexOf('.') + 1), 'base64url').equals(bytes)
    );
  });
  return stem + String(other);
}
