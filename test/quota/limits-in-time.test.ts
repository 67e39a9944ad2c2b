/**
 * The limits per minute, watched over more than a minute: exact in every window of 60 seconds, and
 * Retry-After never too early. All of them are watched at once, so that the minute is waited for once.
 */
import t, { type Test } from 'tap';
import {
  type Answer,
  bearer,
  call,
  createKey,
  get,
  json,
  signal,
  submit,
  verdict,
} from '../support/api.js';
import { startTestGateway } from '../support/gateway.js';

const windowMs = 60_000;
/** The client's clock and the gateway's may be read at two sides of one millisecond. */
const slackMs = 2;
const sources = '/api/v1/terminal-events/sources';

const capacity = { key: 20, unauthenticated: 7, login: 6, signals: 5 };
const gateway = await startTestGateway(t, {
  limits: {
    keyRequestsPerMinute: capacity.key,
    unauthenticatedAttemptsPerMinute: capacity.unauthenticated,
    loginAttemptsPerMinute: capacity.login,
  },
  plans: {
    business: { publicApi: true, signalsPerMinute: capacity.signals, signalsPerDay: 1_000 },
    basic: { publicApi: false, signalsPerMinute: 1, signalsPerDay: 1 },
  },
  flags: ['--trust-proxy', '127.0.0.1'],
});
const { url } = gateway;

/** One limit: how many a minute, how to ask once on behalf of one client, and what a refusal is. */
interface Limited {
  readonly name: string;
  readonly capacity: number;
  readonly refusal: string;
  /** @returns a function that asks as a client of its own. */
  readonly newClient: () => Promise<() => Promise<Answer>>;
}

let clients = 0;
const nextAddress = () => `192.0.2.${++clients}`;
const user = await gateway.user();
const signaller = await gateway.user();
const watcher = await gateway.user();

const limiteds: Limited[] = [
  {
    name: 'requests of a key',
    capacity: capacity.key,
    refusal: '429 api_rate_limited',
    newClient: async () => {
      const { key } = await createKey(url, user.token, { scopes: ['events:read'] });
      return () => get(url, sources, key);
    },
  },
  {
    name: 'failed authentications of a client',
    capacity: capacity.unauthenticated,
    refusal: '429 api_rate_limited',
    newClient: () => {
      const headers = { 'x-forwarded-for': nextAddress(), ...bearer('svc_api_wrong') };
      return Promise.resolve(() => call(url, 'GET', sources, { headers }));
    },
  },
  {
    name: 'login attempts of a client',
    capacity: capacity.login,
    refusal: '429 rate_limit_exceeded',
    newClient: () => {
      const headers = { ...json, 'x-forwarded-for': nextAddress() };
      return Promise.resolve(() => call(url, 'POST', '/api/auth/login', { headers, body: '{}' }));
    },
  },
  {
    name: 'signals of an account',
    capacity: capacity.signals,
    refusal: '429 signal_rate_limit_exceeded',
    newClient: () => {
      const { token } = clients++ % 2 === 0 ? signaller : watcher;
      return signalsOf(token);
    },
  },
];

/** A signal also counts against its key's limit: fresh keys keep that limit out of reach. */
async function signalsOf(token: string): Promise<() => Promise<Answer>> {
  let key = '';
  let id = 0;
  let left = 0;
  return async () => {
    if (left-- === 0) {
      if (id !== 0) await call(url, 'DELETE', `/api/api-keys/${id}`, { headers: bearer(token) });
      ({ key, id } = await createKey(url, token));
      left = capacity.key - 1;
    }
    return submit(url, key, signal());
  };
}

interface Attempt {
  readonly sentAt: number;
  readonly answeredAt: number;
  readonly isGranted: boolean;
  /** Milliseconds. */
  readonly retryAfter: number;
}

async function attempt(ask: () => Promise<Answer>, refusal: string): Promise<Attempt> {
  const sentAt = performance.now();
  const answer = await ask();
  const answeredAt = performance.now();
  const isGranted = verdict(answer) !== refusal;
  if (isGranted && answer.status >= 429) throw new Error(answer.text);
  return {
    sentAt,
    answeredAt,
    isGranted,
    retryAfter: Number(answer.headers.get('retry-after')) * 1000,
  };
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Refusals after a last grant that show that it was the last one. */
const inVainMin = 20;
/** The first minute's grants come back well before the second's, however slow the answers are. */
const watchMs = 115_000;

/** @returns the next pause: short around the moment when a grant must come back, longer in between. */
function pauseMs(attempts: readonly Attempt[], capacity: number): number {
  const granted = attempts.filter(({ isGranted }) => isGranted);
  const oldest = granted.at(-capacity);
  if (oldest === undefined) return 25;
  const untilReturn = oldest.answeredAt + windowMs - performance.now();
  return Math.abs(untilReturn) < 500 ? 25 : Math.min(500, Math.max(25, untilReturn - 450));
}

/** Asks for more than a minute, and checks that grants and refusals agree. */
async function watch(t: Test, { capacity, refusal, newClient }: Limited): Promise<void> {
  const ask = await newClient();
  const attempts: Attempt[] = [];
  const end = performance.now() + watchMs;
  const isEnough = (): boolean =>
    attempts.filter(({ isGranted }) => isGranted).length >= 2 * capacity &&
    attempts.slice(-inVainMin).every(({ isGranted }) => !isGranted);
  const first = Math.ceil(capacity / 2);
  for (let i = 0; i < first; i++) attempts.push(await attempt(ask, refusal));
  await sleep(3_000);
  while (!isEnough() && performance.now() < end) {
    attempts.push(await attempt(ask, refusal));
    await sleep(pauseMs(attempts, capacity));
  }
  const granted = attempts.filter(({ isGranted }) => isGranted);
  const refused = attempts.filter(({ isGranted }) => !isGranted);
  t.equal(granted.length, 2 * capacity, 'all of the first minute’s grants came back, each once');
  for (const [index, later] of granted.slice(capacity).entries()) {
    const earlier = granted[index] as Attempt;
    const span = later.answeredAt - earlier.sentAt;
    t.ok(span >= windowMs - slackMs, `never more than the limit within a minute: ${span} ms`);
  }
  t.ok(refused.length > 2 * inVainMin, 'asked again and again');
  const unjust = refused.filter(({ sentAt }) => {
    const inWindow = granted.filter(
      (grant) => grant.sentAt < sentAt && grant.answeredAt > sentAt - windowMs - slackMs,
    );
    return inWindow.length < capacity;
  });
  t.same(unjust, [], 'a client within the limit is not refused');
  const early = refused.filter(({ sentAt, answeredAt, retryAfter }) => {
    const stillHeld = granted.filter(
      (grant) =>
        grant.answeredAt <= sentAt && grant.sentAt + windowMs > answeredAt + retryAfter + slackMs,
    );
    return !(retryAfter >= 1_000 && retryAfter <= windowMs) || stillHeld.length >= capacity;
  });
  t.same(early, [], 'Retry-After is never too early');
}

/** Uses the limit up, and asks once more exactly when the `Retry-After` of a refusal is over. */
async function stayWithin(t: Test, { capacity, refusal, newClient }: Limited): Promise<void> {
  const ask = await newClient();
  const attempts: Attempt[] = [];
  while (attempts.length < capacity) attempts.push(await attempt(ask, refusal));
  t.ok(attempts.every(({ isGranted }) => isGranted));
  const refused = await attempt(ask, refusal);
  t.notOk(refused.isGranted);
  await sleep(refused.answeredAt + refused.retryAfter - performance.now() + 1);
  t.ok((await attempt(ask, refusal)).isGranted, 'granted after Retry-After');
}

t.test('while the limits are watched', async (t) => {
  t.jobs = 16;
  const runs = limiteds.flatMap((limited) => [
    t.test(
      `${limited.name}: exact in every window of a minute`,
      { buffered: true, timeout: 280_000 },
      (t) => watch(t, limited),
    ),
    t.test(
      `${limited.name}: one succeeds after Retry-After`,
      { buffered: true, timeout: 280_000 },
      (t) => stayWithin(t, limited),
    ),
  ]);
  await Promise.all(runs);
});

t.test('of many requests at once a key gets exactly its limit', async (t) => {
  const other = await createKey(url, user.token, { scopes: ['events:read'] });
  const answers = await Promise.all(
    Array.from({ length: 3 * capacity.key }, () => get(url, sources, other.key)),
  );
  const granted = answers.filter(({ status }) => status === 200);
  const refused = answers.filter(({ status }) => status === 429);
  t.equal(granted.length, capacity.key);
  t.equal(refused.length, 2 * capacity.key);
  for (const answer of refused) {
    t.equal(verdict(answer), '429 api_rate_limited');
    t.match(answer.headers.get('ratelimit'), /^"key";r=0;t=\d+$/);
    t.match(answer.headers.get('retry-after'), /^[1-9]\d*$/);
  }
  const left = granted.map(({ headers }) =>
    Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]),
  );
  t.same(
    left.sort((a, b) => a - b),
    Array.from({ length: capacity.key }, (_, index) => index),
  );
});

t.test(
  'the rate of a key comes before plan, scope and endpoint, and after the credential',
  async (t) => {
    const { email, token, keyId } = signaller;
    await call(url, 'DELETE', `/api/api-keys/${keyId}`, { headers: bearer(token) });
    const { key } = await createKey(url, token, { scopes: ['events:read'] });
    await Promise.all(Array.from({ length: capacity.key }, () => get(url, sources, key)));
    const write = () => submit(url, key, '{');
    t.equal(verdict(await write()), '429 api_rate_limited', 'before scope and endpoint');
    await gateway.command('user', 'set', email, '--plan', 'basic');
    t.equal(verdict(await write()), '429 api_rate_limited', 'before the plan');
    await gateway.command('api', 'disable');
    t.equal(verdict(await write()), '503 public_api_disabled', 'after the switch');
    await gateway.command('api', 'enable');
    t.equal(verdict(await get(url, '/api/v1/nothing', key)), '404 not_found', 'after the route');
    await gateway.command('user', 'delete', email);
    t.equal(verdict(await write()), '401 invalid_api_key', 'after the credential');
  },
);
