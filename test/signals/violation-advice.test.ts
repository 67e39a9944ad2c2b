/** `error.message` of an `invalid_signal`: what to do about each violated rule, with the limits in force. */
import assert from 'node:assert/strict';
import t from 'tap';
import { unixMsMax } from '../../src/limits.js';
import { createEnvelopeReader } from '../../src/signals/envelope.js';
import { createViolationAdvice } from '../../src/signals/violation-advice.js';
import { shippedLimits } from '../support/shipped-limits.js';

const now = Date.UTC(2026, 0, 15, 12);
const valid = {
  v: 1,
  signalId: 's-1',
  ts: now,
  ttlMs: 1_000,
  platform: 'terminal_a',
  type: 'order',
  cmd: 'submit',
  payload: {},
};

function adviceFor(body: unknown, limits = shippedLimits(), names = ['terminal_a', 'terminal_b']) {
  const platforms = new Set(names);
  const violations = createEnvelopeReader(limits, platforms).read(body, now);
  assert(Array.isArray(violations));
  return createViolationAdvice(limits, platforms)(violations, body, now);
}

t.test('each rule has its sentence', async (t) => {
  // oxfmt-ignore
  const rows: [body: unknown, said: RegExp][] = [
    [[], /^The body must be one JSON object\.$/],
    [{ ...valid, v: 2 }, /^v must be the integer 1\.$/],
    [{ ...valid, signalId: '' }, /^signalId must be a text of 1 to 128 characters\.$/],
    [{ ...valid, type: '' }, /^type .* 1 to 64 characters\.$/],
    [{ ...valid, cmd: 'x'.repeat(65) }, /^cmd .* 1 to 64 characters\.$/],
    [{ ...valid, ts: {} }, /^ts must be an integer, the Unix time in milliseconds, from 0 to \d+\.$/],
    [{ ...valid, ts: now + 60_001 }, /^ts is 60001 ms ahead .* at most 60000 ms ahead/],
    [{ ...valid, ttlMs: 0 }, /^ttlMs must be an integer from 1 to 300000\.$/],
    [{ ...valid, ts: now - 4_000 }, /^The signal expired at ts \+ ttlMs, 3000 ms ago/],
    [{ ...valid, ts: unixMsMax }, /ts \+ ttlMs must be at most \d+\.$/],
    [{ ...valid, platform: '' }, /The platforms are: terminal_a, terminal_b\.$/],
    [{ ...valid, platform: 'mt9' }, /^platform has an unknown name.* terminal_a, terminal_b\.$/],
    [{ ...valid, payload: [] }, /^payload must be a JSON object/],
    [{ ...valid, instanceId: '' }, /^instanceId .* 1 to 128 characters\. Leave it out to address every instance\.$/],
    [{ ...valid, accountName: '' }, /^accountName .* 1 to 128 characters\. Leave it out to address every account\.$/],
    [{ ...valid, account: 'Sim101', accountname: 'Sim101' }, /^The body has an unknown field.*platform,.* accountName\.$/],
  ];
  for (const [body, said] of rows) t.match(adviceFor(body), said);
});

t.test('a ts that looks like another unit is told as such', async (t) => {
  const rows: [ts: unknown, hint: RegExp | undefined][] = [
    [now / 1_000, /Is ts in milliseconds\? It looks like seconds\.$/],
    [now / 1_000 + 0.25, /It looks like seconds\.$/],
    [now * 1_000, /It looks like microseconds\.$/],
    [now * 1_000_000, /It looks like nanoseconds\.$/],
    [`${now}`, /ts is a text: send it as a number\.$/],
    [now - 4_000, undefined],
    [now + 90_000, undefined],
    [0, undefined],
    [1e300, undefined],
  ];
  for (const [ts, hint] of rows) {
    const said = adviceFor({ ...valid, ts });
    if (hint === undefined) t.notMatch(said, /milliseconds\?|text/, String(ts));
    else t.match(said, hint, String(ts));
  }
});

t.test('the sentences follow the violations, and hold the limits in force', async (t) => {
  const limits = shippedLimits({ signalIdLengthMax: 20, ttlMsMax: 5, instanceIdLengthMax: 3 });
  const body = { ...valid, signalId: '', ttlMs: 6, platform: 'x', instanceId: '' };
  t.equal(
    adviceFor(body, limits, ['terminal_z']),
    'signalId must be a text of 1 to 20 characters. ttlMs must be an integer from 1 to 5. ' +
      'platform has an unknown name. Separate several names by commas. The platforms are: terminal_z. ' +
      'instanceId must be a text of 1 to 3 characters. Leave it out to address every instance.',
  );
});

t.test('the message is bounded, and repeats nothing that was sent', async (t) => {
  const long = 'zq'.repeat(10_000);
  const unknown = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`${long}${i}`, long]));
  const names = Array.from({ length: 100 }, (_, i) => `${'p'.repeat(29)}${i}`);
  const texts = ['v', 'signalId', 'ts', 'ttlMs', 'platform', 'type', 'cmd', 'payload'];
  const body = Object.fromEntries(
    [...texts, 'instanceId', 'accountName'].map((name) => [name, long]),
  );
  const said = adviceFor({ ...unknown, ...body }, shippedLimits(), names);
  t.ok(said.length < 2_048, `${said.length} characters`);
  t.notMatch(said, /zq/);
  t.match(said, /p15, …\./);
});
