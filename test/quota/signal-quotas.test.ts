/** Account quotas and the uniqueness of signalIds: exact under concurrency and across any restart. */
import t from 'tap';
import { type Answer, codeOf, createKey, signal, submit, tally } from '../support/api.js';
import { startTestGateway } from '../support/gateway.js';
import { dayOfAtLeast } from '../support/utc-day.js';

const plans = {
  business: { publicApi: true, signalsPerMinute: 10_000, signalsPerDay: 1_000_000 },
  minute: { publicApi: true, signalsPerMinute: 8, signalsPerDay: 1_000 },
  wide: { publicApi: true, signalsPerMinute: 12, signalsPerDay: 1_000 },
  day: { publicApi: true, signalsPerMinute: 1_000, signalsPerDay: 8 },
  none: { publicApi: true, signalsPerMinute: 1_000, signalsPerDay: 0 },
};
await dayOfAtLeast(60_000);

const gateway = await startTestGateway(t, { plans });

const refusals = {
  minute: 'signal_rate_limit_exceeded',
  day: 'daily_signal_limit_exceeded',
} as const;

function many(count: number, key: string, body: () => object = signal): Promise<Answer[]> {
  return Promise.all(Array.from({ length: count }, () => submit(gateway.url, key, body())));
}

for (const plan of ['minute', 'day'] as const) {
  t.test(
    `the quota per ${plan} is exact over concurrent signals and over all keys of the account`,
    async (t) => {
      const { key, token } = await gateway.user({ plan });
      const second = await createKey(gateway.url, token);
      const answers = await Promise.all([many(20, key), many(20, second.key)]);
      t.same(tally(answers.flat()), { '202': 8, [`429 ${refusals[plan]}`]: 32 });
    },
  );
}

t.test('signals that a kill interrupts count if, and only if, they were accepted', async (t) => {
  const { key } = await gateway.user({ plan: 'day' });
  const bodies = Array.from({ length: 6 }, () => JSON.stringify(signal()));
  const sent = bodies.map((body, index) =>
    submit(gateway.url, key, body, `k${index}`).catch(() => undefined),
  );
  await Promise.race(sent);
  await gateway.process.kill();
  const told = await Promise.all(sent);
  await gateway.start();
  const again = await Promise.all(
    bodies.map((body, index) => submit(gateway.url, key, body, `k${index}`)),
  );
  for (const [index, answer] of again.entries()) {
    t.equal(answer.status, 202);
    const before = told[index];
    if (before?.status === 202) t.equal(answer.text, before.text, 'what was told is kept');
  }
  t.same(tally(await many(5, key)), { '202': 2, '429 daily_signal_limit_exceeded': 3 });
});

t.test('another plan holds at once, and what was used stays used', async (t) => {
  const { key, email } = await gateway.user({ plan: 'minute' });
  t.same(tally(await many(8, key)), { '202': 8 });
  await gateway.command('user', 'set', email, '--plan', 'wide');
  t.same(tally(await many(6, key)), { '202': 4, '429 signal_rate_limit_exceeded': 2 });
  await gateway.command('user', 'set', email, '--plan', 'day');
  t.same(tally(await many(2, key)), { '429 daily_signal_limit_exceeded': 2 });
  await gateway.command('user', 'set', email, '--plan', 'minute');
  t.same(tally(await many(2, key)), { '429 signal_rate_limit_exceeded': 2 });
});

t.test('a plan without signals accepts none', async (t) => {
  const { key } = await gateway.user({ plan: 'none' });
  t.same(tally(await many(2, key)), { '429 daily_signal_limit_exceeded': 2 });
});

t.test('invalid, duplicate and malformed signals use no quota', async (t) => {
  const { key } = await gateway.user({ plan: 'day' });
  const first = signal();
  await submit(gateway.url, key, first);
  const wrong = [
    ...(await many(5, key, () => first)),
    ...(await many(5, key, () => ({}))),
    await submit(gateway.url, key, '{'),
  ];
  t.same(tally(wrong), {
    '409 duplicate_signal_id': 5,
    '422 invalid_signal': 5,
    '400 malformed_json': 1,
  });
  t.same(tally(await many(8, key)), { '202': 7, '429 daily_signal_limit_exceeded': 1 });
});

t.test('a signalId is accepted once, however many requests bring it at once', async (t) => {
  const { key, token } = await gateway.user();
  const second = await createKey(gateway.url, token);
  for (let round = 0; round < 3; round++) {
    const body = signal();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        submit(gateway.url, index % 2 === 0 ? key : second.key, body),
      ),
    );
    t.same(tally(answers), { '202': 1, '409 duplicate_signal_id': 49 });
  }
});

t.test('quotas count on and signalIds stay taken over SIGTERM and SIGKILL', async (t) => {
  const users = {
    minute: await gateway.user({ plan: 'minute' }),
    day: await gateway.user({ plan: 'day' }),
  };
  const names = ['minute', 'day'] as const;
  const body = signal();
  const other = await gateway.user();
  const isTaken = async (): Promise<void> => {
    t.equal(codeOf(await submit(gateway.url, other.key, body)), 'duplicate_signal_id');
  };
  t.equal((await submit(gateway.url, other.key, body)).status, 202);
  for (const name of names) t.same(tally(await many(3, users[name].key)), { '202': 3 }, name);

  await gateway.restart('SIGTERM');
  await isTaken();
  for (const name of names) t.same(tally(await many(3, users[name].key)), { '202': 3 }, name);

  await gateway.restart('SIGKILL');
  await isTaken();
  for (const name of names) {
    const expected = { '202': 2, [`429 ${refusals[name]}`]: 8 };
    t.same(tally(await many(10, users[name].key)), expected, name);
  }

  await gateway.restart('SIGKILL');
  for (const name of names) {
    const answers = await many(3, users[name].key);
    t.same(tally(answers), { [`429 ${refusals[name]}`]: 3 }, name);
    for (const { headers } of answers) t.ok(Number(headers.get('retry-after')) >= 1);
  }
});
