/**
 * What counts per client: login attempts and failed authentications, each client being the IPv4
 * address or IPv6 /64 that the socket or a trusted proxy names. Every subtest is another client.
 */
import t from 'tap';
import { type Answer, bearer, call, json, tally, verdict } from '../support/api.js';
import { password } from '../support/gateway-process.js';
import { startTestGateway } from '../support/gateway.js';

const proxied = await startTestGateway(t, {
  emails: ['ann@example.com'],
  limits: { loginAttemptsPerMinute: 10, unauthenticatedAttemptsPerMinute: 60 },
  flags: ['--trust-proxy', '127.0.0.1,10.0.0.0/8'],
});

function loginFrom(url: string, client: string, body: string = right, type = json['content-type']) {
  return call(url, 'POST', '/api/auth/login', {
    headers: { 'content-type': type, 'x-forwarded-for': client },
    body,
  });
}

function knockFrom(url: string, client: string, headers: Record<string, string> = {}) {
  const path = '/api/v1/terminal-events/sources';
  return call(url, 'GET', path, { headers: { 'x-forwarded-for': client, ...headers } });
}

const right = JSON.stringify({ email: 'ann@example.com', password });

t.test(
  '10 logins a minute and client, successful ones counted, then 429 with Retry-After',
  async (t) => {
    for (let i = 0; i < 10; i++) t.equal(verdict(await loginFrom(proxied.url, '192.0.2.1')), '200');
    const refused = await loginFrom(proxied.url, '192.0.2.1');
    t.equal(verdict(refused), '429 rate_limit_exceeded');
    t.same(Object.keys(refused.body), ['code', 'message']);
    const retryAfter = refused.headers.get('retry-after') ?? '';
    t.match(retryAfter, /^[0-9]+$/);
    t.ok(Number(retryAfter) >= 1 && Number(retryAfter) <= 60, retryAfter);
    t.equal(
      verdict(await loginFrom(proxied.url, '192.0.2.2')),
      '200',
      'another client is not slowed',
    );
  },
);

t.test('every kind of login attempt counts, also one that is no login at all', async (t) => {
  const client = '192.0.2.3';
  const wrong = JSON.stringify({ email: 'ann@example.com', password: 'wrong horse' });
  for (let i = 0; i < 2; i++) {
    t.equal(
      verdict(await loginFrom(proxied.url, client, right, 'text/plain')),
      '415 unsupported_media_type',
    );
    t.equal(verdict(await loginFrom(proxied.url, client, '{')), '400 malformed_json');
    t.equal(verdict(await loginFrom(proxied.url, client, '{}')), '400 validation_failed');
    t.equal(verdict(await loginFrom(proxied.url, client, wrong)), '401 invalid_credentials');
    t.equal(
      verdict(await loginFrom(proxied.url, client, 'x'.repeat(66_000))),
      '413 request_body_too_large',
    );
  }
  t.equal(verdict(await loginFrom(proxied.url, client)), '429 rate_limit_exceeded');
  t.equal(
    verdict(await loginFrom(proxied.url, client, right, 'text/plain')),
    '429 rate_limit_exceeded',
    'the limit comes before everything else',
  );
});

t.test('of 30 logins at once exactly 10 are looked at', async (t) => {
  const attempts = Array.from({ length: 30 }, () => loginFrom(proxied.url, '192.0.2.4'));
  t.same(tally(await Promise.all(attempts)), { '200': 10, '429 rate_limit_exceeded': 20 });
});

t.test(
  '60 failed authentications a minute and client get 401, then 429, however many come at once',
  async (t) => {
    const attempts = Array.from({ length: 75 }, (_, i) =>
      knockFrom(proxied.url, '192.0.2.5', i % 2 === 0 ? {} : bearer(`svc_api_${'x'.repeat(43)}`)),
    );
    const answers = await Promise.all(attempts);
    t.same(tally(answers), { '401 invalid_api_key': 60, '429 api_rate_limited': 15 });
    for (const answer of answers.filter(({ status }) => status === 429)) {
      const retryAfter = Number(answer.headers.get('retry-after'));
      t.ok(Number.isInteger(retryAfter) && retryAfter >= 1 && retryAfter <= 60, `${retryAfter}`);
    }
    t.equal(verdict(await knockFrom(proxied.url, '192.0.2.6')), '401 invalid_api_key');
  },
);

t.test(
  'a valid key is never slowed by the failed attempts of its address, and does not lift them',
  async (t) => {
    const { key } = await proxied.user();
    const client = '192.0.2.7';
    await Promise.all(Array.from({ length: 61 }, () => knockFrom(proxied.url, client)));
    t.equal(verdict(await knockFrom(proxied.url, client)), '429 api_rate_limited');
    const calls = Array.from({ length: 100 }, () => knockFrom(proxied.url, client, bearer(key)));
    t.same(tally(await Promise.all(calls)), { '200': 100 });
    t.equal(verdict(await knockFrom(proxied.url, client)), '429 api_rate_limited');
  },
);

t.test('logins and failed authentications are counted apart', async (t) => {
  const client = '192.0.2.8';
  await Promise.all(Array.from({ length: 61 }, () => knockFrom(proxied.url, client)));
  t.equal(verdict(await loginFrom(proxied.url, client)), '200');
});

t.test('one IPv6 /64 is one client, the next one another', async (t) => {
  for (let i = 0; i < 10; i++) {
    t.equal(verdict(await loginFrom(proxied.url, `2001:db8:0:1:${i + 1}::${i}`)), '200');
  }
  t.equal(
    verdict(await loginFrom(proxied.url, '2001:db8:0:1:ffff:ffff:ffff:ffff')),
    '429 rate_limit_exceeded',
  );
  t.equal(verdict(await loginFrom(proxied.url, '2001:db8:0:2::1')), '200');
});

t.test('nobody believes X-Forwarded-For without --trust-proxy', async (t) => {
  const open = await startTestGateway(t, {
    limits: { loginAttemptsPerMinute: 3, unauthenticatedAttemptsPerMinute: 3 },
  });
  const answers: Answer[] = [];
  for (let i = 0; i < 5; i++) answers.push(await knockFrom(open.url, `192.0.2.${i}`));
  t.same(tally(answers), { '401 invalid_api_key': 3, '429 api_rate_limited': 2 });
  const logins: Answer[] = [];
  for (let i = 0; i < 5; i++) logins.push(await loginFrom(open.url, `192.0.2.${i}`));
  t.same(tally(logins), { '401 invalid_credentials': 3, '429 rate_limit_exceeded': 2 });
});

t.test('a gateway on ::1 serves IPv6 clients and counts them', async (t) => {
  const open = await startTestGateway(t, {
    limits: { unauthenticatedAttemptsPerMinute: 3 },
    flags: ['--host', '::1'],
  });
  t.match(open.url, /^http:\/\/\[::1\]:/);
  const answers: Answer[] = [];
  for (let i = 0; i < 5; i++) answers.push(await knockFrom(open.url, ''));
  t.same(tally(answers), { '401 invalid_api_key': 3, '429 api_rate_limited': 2 });
});
