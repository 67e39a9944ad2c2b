import t from 'tap';
import { createKeyRequestReader, keyRequestOutline } from '../../src/auth/api-key-request.js';
import { parseJson } from '../../src/http/json-body.js';
import { limits } from '../../src/limits.js';

const now = Date.UTC(2026, 0, 1);
const dayMs = 86_400_000;
const inForce = {
  keyNameLengthMax: limits.keyNameLengthMax.value,
  keyLifetimeDaysMax: limits.keyLifetimeDaysMax.value,
};
const valid = { name: 'bot', scopes: ['signals:write'] };
const read = createKeyRequestReader(inForce);
const parse = (body: unknown) => read(body, now);
const expiring = (expiresAt: unknown) => parse({ ...valid, expiresAt });

t.test('a valid request gives the trimmed name, the scopes and the end', (t) => {
  t.strictSame(parse({ ...valid, name: '  bot \n' }), { ...valid, expiresAt: null, limits: null });
  t.strictSame(expiring(null), { ...valid, expiresAt: null, limits: null });
  t.strictSame(expiring('2026-01-02T01:00:00+01:00'), {
    ...valid,
    expiresAt: now + dayMs,
    limits: null,
  });
  t.strictSame(
    parse({ ...valid, other: 1 }),
    { ...valid, expiresAt: null, limits: null },
    'unknown fields',
  );
  const scopes = ['signals:write', 'events:read', 'orders:cancel', 'signals:read'];
  t.strictSame(parse({ name: 'all', scopes }), {
    name: 'all',
    scopes,
    expiresAt: null,
    limits: null,
  });
  t.end();
});

t.test('the name has 1 to 80 UTF-16 units once trimmed', (t) => {
  for (const name of [undefined, null, 7, '', ' \t ', 'x'.repeat(81), '😀'.repeat(41), ['bot']]) {
    t.strictSame(parse({ ...valid, name }), { code: 'invalid_name' }, JSON.stringify(name));
  }
  for (const name of ['x', 'x'.repeat(80), `  ${'x'.repeat(80)}  `, '😀'.repeat(40)]) {
    t.match(parse({ ...valid, name }), { name: name.trim() });
  }
  t.end();
});

t.test('a body that is no object fails by its name', (t) => {
  for (const body of [undefined, null, 7, 'bot', true, [], [valid]]) {
    t.strictSame(parse(body), { code: 'invalid_name' }, JSON.stringify(body));
  }
  t.end();
});

t.test('scopes are a non-empty list of supported ones, each once', (t) => {
  // oxfmt-ignore
  const bad = [
    undefined, null, 'signals:write', {}, { 0: 'signals:read', length: 1 }, [], ['admin'], [7], [null], [['signals:read']],
    ['signals:write', 'signals:write'], ['signals:write', 'toString'], ['__proto__'], ['Signals:Read'], [' signals:read'],
  ];
  for (const scopes of bad) {
    t.strictSame(parse({ ...valid, scopes }), { code: 'invalid_scopes' }, JSON.stringify(scopes));
  }
  t.end();
});

t.test('the end lies in the future and at most 365 days ahead', (t) => {
  const at = (unixMs: number) => new Date(unixMs).toISOString();
  t.strictSame(expiring(at(now)), { code: 'invalid_expiration' });
  t.strictSame(expiring(at(now - 1)), { code: 'invalid_expiration' });
  t.match(expiring(at(now + 1)), { expiresAt: now + 1 });
  t.match(expiring('2025-12-31T23:30:00-01:00'), { expiresAt: now + dayMs / 48 });
  t.strictSame(expiring('2026-01-01T00:30:00+01:00'), { code: 'invalid_expiration' });
  t.match(expiring(at(now + 365 * dayMs)), { expiresAt: now + 365 * dayMs });
  t.strictSame(expiring(at(now + 365 * dayMs + 1)), { code: 'invalid_expiration' });
  // oxfmt-ignore
  const bad = [
    0, now + dayMs, String(now + dayMs), [at(now + dayMs)], {}, false, '', 'never', '2026-06-01', '2026-06-01T00:00:00',
    '2026-06-31T00:00:00Z', '2026-06-01T00:00:00+25:00', '2026-06-01T00:00:00 Europe/Berlin',
  ];
  for (const expiresAt of bad)
    t.strictSame(expiring(expiresAt), { code: 'invalid_expiration' }, JSON.stringify(expiresAt));
  t.end();
});

t.test('limits are taken as they are given, and every bad one is named', (t) => {
  t.match(parse({ ...valid, limits: { maxOpenOrders: 3 } }), { limits: { maxOpenOrders: 3 } });
  t.strictSame(parse({ ...valid, limits: { maxOpenOrders: 0 } }), {
    code: 'invalid_limits',
    details: [{ field: 'limits.maxOpenOrders', code: 'out_of_range' }],
  });
  t.end();
});

t.test('the first violation in the order name, scopes, expiration, limits is the answer', (t) => {
  const wrong = { name: '', scopes: [], expiresAt: 'never', limits: [] };
  t.strictSame(parse(wrong), { code: 'invalid_name' });
  t.strictSame(parse({ ...wrong, name: 'bot' }), { code: 'invalid_scopes' });
  t.strictSame(parse({ ...wrong, name: 'bot', scopes: ['events:read'] }), {
    code: 'invalid_expiration',
  });
  t.end();
});

t.test('of a long body only what a key has is parsed', async (t) => {
  const names = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`name${i}`, 'text']));
  const body = (limits: object) => ({ ...valid, expiresAt: '2026-01-02T00:00:00Z', limits });
  const parsed = (value: object) =>
    parseJson(Buffer.from(JSON.stringify(value)), 16, keyRequestOutline)?.value;
  const keyLimits = {
    allowedIps: ['10.0.0.0/8'],
    allowedInstruments: Array.from({ length: 64 }, (_, i) => `${i}`.padEnd(30, 'x')),
    maxOrderQuantity: 1,
    maxOpenOrders: 2,
    maxOrdersPerSecond: 3,
  };
  t.match(parse(parsed(body(keyLimits))), { limits: keyLimits });
  const misspelt = body({ ...keyLimits, ...names });
  t.strictSame(parse(parsed(misspelt)), parse(misspelt), 'unknown fields are told');
  t.notMatch(JSON.stringify(parsed({ ...misspelt, ...names })), 'name499');
});
