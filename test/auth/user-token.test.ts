import { createHmac } from 'node:crypto';
import t from 'tap';
import { createUserTokens, authenticateUser } from '../../src/auth/user-token.js';
import type { User } from '../../src/model/records.js';
import { createMemoryStore } from '../support/memory-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';

const secret = 'k'.repeat(32);
const lifetimeMs = 86_400_000;
const user: User = {
  userId: 'usr_1',
  email: 'trader@example.com',
  plan: 'business',
  passwordHash: '$',
  confirmed: true,
  frozen: false,
  tokenGeneration: 3,
  sessionGeneration: 8,
  createdAt: 0,
};

function setUp() {
  const clock = new SimulatedClock();
  return { clock, tokens: createUserTokens({ secret, clock, lifetimeMs }) };
}

function partsOf(token: string): [Record<string, unknown>, Record<string, unknown>, string] {
  const [header, payload, signature] = token.split('.') as [string, string, string];
  const read = (part: string) =>
    JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>;
  return [read(header), read(payload), signature];
}

/** A token signed as ours are, but with any header, payload, key and hash. */
function forge(header: object, payload: object, key = secret, hash = 'sha256'): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const input = `${encode(header)}.${encode(payload)}`;
  return `${input}.${createHmac(hash, key).update(input).digest('base64url')}`;
}

t.test('a token names the user and the generation, and nothing secret', (t) => {
  const { clock, tokens } = setUp();
  const token = tokens.issue(user);
  t.strictSame(tokens.verify(token), { userId: 'usr_1', generation: 3 });
  const [header, payload] = partsOf(token);
  t.strictSame(header, { alg: 'HS256', typ: 'user+jwt' });
  t.strictSame(payload, {
    sub: 'usr_1',
    gen: 3,
    iat: Math.floor(clock.now() / 1000),
    exp: Math.ceil((clock.now() + lifetimeMs) / 1000),
    until: clock.now() + lifetimeMs,
    aud: 'signalbox:user',
  });
  t.equal(forge(header, payload), token, 'the forgery below differs only where it says');
  t.end();
});

t.test('a token ends with its lifetime, by the injected clock, to the millisecond', (t) => {
  const { clock, tokens } = setUp();
  const token = tokens.issue(user);
  clock.advance(lifetimeMs - 1);
  t.ok(tokens.verify(token));
  clock.advance(1);
  t.equal(tokens.verify(token), undefined);
  t.end();
});

t.test('another algorithm, key, type or audience is refused', (t) => {
  const { tokens } = setUp();
  const [header, payload] = partsOf(tokens.issue(user));
  const unsigned = forge({ ...header, alg: 'none' }, payload).replace(/[^.]*$/, '');
  const withoutAudience: Record<string, unknown> = { ...payload };
  delete withoutAudience['aud'];
  const cases = {
    'alg none without a signature': unsigned,
    'alg None without a signature': forge({ ...header, alg: 'None' }, payload).replace(
      /[^.]*$/,
      '',
    ),
    'alg none with one': forge({ ...header, alg: 'none' }, payload),
    'our alg without a signature': forge(header, payload).replace(/[^.]*$/, ''),
    HS512: forge({ ...header, alg: 'HS512' }, payload, secret, 'sha512'),
    RS256: forge({ ...header, alg: 'RS256' }, payload),
    'no alg': forge({ typ: 'user+jwt' }, payload),
    'another key': forge(header, payload, 'x'.repeat(32)),
    'no type': forge({ alg: 'HS256' }, payload),
    'another type': forge({ ...header, typ: 'JWT' }, payload),
    'another audience': forge(header, { ...payload, aud: 'signalbox:session' }),
    'no audience': forge(header, withoutAudience),
    'an unknown critical header': forge({ ...header, crit: ['b64'], b64: false }, payload),
  };
  for (const [name, token] of Object.entries(cases)) t.equal(tokens.verify(token), undefined, name);
  t.end();
});

t.test('claims of a wrong type are refused', (t) => {
  const { clock, tokens } = setUp();
  const [header, payload] = partsOf(tokens.issue(user));
  const wrong = [
    { sub: 7 },
    { sub: null },
    { gen: '3' },
    { gen: undefined },
    { until: undefined },
    { until: String(clock.now() + lifetimeMs) },
    { until: null },
  ];
  for (const claims of wrong) {
    const token = forge(header, { ...payload, ...claims });
    t.equal(tokens.verify(token), undefined, JSON.stringify(claims));
  }
  t.end();
});

t.test('any altered character is refused', (t) => {
  const { tokens } = setUp();
  const token = tokens.issue(user);
  let accepted = 0;
  for (let i = 0; i < token.length; i++) {
    for (const character of ['A', 'B', 'C', 'D', '.', '=', ' ']) {
      const altered = token.slice(0, i) + character + token.slice(i + 1);
      if (altered !== token && tokens.verify(altered) !== undefined) accepted++;
    }
  }
  t.equal(accepted, 0);
  const base64url = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const lastOnes = Array.from(base64url).filter(
    (c) => tokens.verify(token.slice(0, -1) + c) !== undefined,
  );
  t.strictSame(lastOnes, [token.at(-1)], 'also in the spare bits of the last one');
  t.end();
});

t.test('whatever is no token is refused without a throw', (t) => {
  const { tokens } = setUp();
  const token = tokens.issue(user);
  const texts = ['', '.', '..', '...', 'a.b.c', 'svc_api_x', `${token}.`, `.${token}`, ` ${token}`];
  for (const text of [
    ...texts,
    `${token}=`,
    token.repeat(2),
    'x'.repeat(100_000),
    'bnVsbA.bnVsbA.',
  ]) {
    t.equal(tokens.verify(text), undefined, text.slice(0, 40));
  }
  t.end();
});

t.test('a secret given as bytes and as text is one secret', (t) => {
  const { clock, tokens } = setUp();
  const same = createUserTokens({ secret: Buffer.from(secret), clock, lifetimeMs });
  t.ok(same.verify(tokens.issue(user)));
  t.end();
});

t.test('a token is good for an existing user of the same generation alone', async (t) => {
  const { tokens } = setUp();
  const store = createMemoryStore();
  const token = tokens.issue(user);
  const put = (record: User) => store.write((batch) => batch.put('users', user.userId, record));
  t.equal(authenticateUser(store, tokens, token), undefined, 'no such user');
  await put(user);
  t.strictSame(authenticateUser(store, tokens, token), user);
  t.equal(authenticateUser(store, tokens, `${token}x`), undefined);
  await put({ ...user, sessionGeneration: 9 });
  t.ok(authenticateUser(store, tokens, token), 'revoked sessions leave it alone');
  await put({ ...user, tokenGeneration: 4 });
  t.equal(authenticateUser(store, tokens, token), undefined, 'the password has changed');
  await store.write((batch) => batch.remove('users', user.userId));
  t.equal(authenticateUser(store, tokens, token), undefined, 'the user was deleted');
  await store.close();
});
