import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { refusal, type Reply } from '../support/fake-api.js';
import { accepted, draft, startScriptedClient } from './scripted-client.js';

const scripted = await startScriptedClient(t);
const { api } = scripted;

/** Replies after which the client tries again: the signal may have been accepted, or surely was not. */
const mayHaveAccepted: readonly Reply[] = [
  'reset-before-body',
  'reset-after-body',
  'cut',
  'silent',
  refusal(500, 'signal_processing_failed'),
  refusal(409, 'request_in_progress', { 'Retry-After': '1' }),
  { status: 502, body: '<html>' },
  { status: 505, headers: { Connection: 'close' }, body: '<h1>' },
  { status: 202, body: '{' },
];
const surelyNotAccepted: readonly Reply[] = [
  refusal(429, 'api_rate_limited'),
  refusal(429, 'api_rate_limited', { 'Retry-After': '2' }),
  refusal(503, 'public_api_disabled'),
];
const failures = fc.array(fc.constantFrom(...mayHaveAccepted, ...surelyNotAccepted), {
  minLength: 1,
  maxLength: 6,
});
const drafts = fc.record({
  ...Object.fromEntries(Object.entries(draft).map(([name, value]) => [name, fc.constant(value)])),
  payload: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })),
}) as fc.Arbitrary<typeof draft>;

/** Counts different keys and bodies on the wire; a connection that is reset early shows no body. */
function distinctRequests(): { keys: number; bodies: number } {
  const bodies = api.seen.map(({ body }) => body.toString('latin1')).filter((body) => body !== '');
  return {
    keys: new Set(api.seen.map(({ headers }) => headers['idempotency-key'])).size,
    bodies: new Set(bodies).size,
  };
}

t.test('any transient failures before a success: one key, one body, the success', async () => {
  await fc.assert(
    fc.asyncProperty(
      failures,
      drafts,
      fc.double({ min: 0, max: 0.99, noNaN: true }),
      async (script, signal, r) => {
        api.play(...script, accepted);
        const client = scripted.client({ giveUpAfterMs: 300_000, random: () => r });
        const prepared = client.prepare(signal);
        const result = await client.send(prepared);
        assert.equal(result.ok && result.value.requestId, accepted.body.requestId);
        assert.equal(api.seen.length, script.length + 1);
        assert.deepEqual(distinctRequests(), { keys: 1, bodies: 1 });
        assert.equal(api.seen.at(-1)?.body.toString(), Buffer.from(prepared.body).toString());
        assert.equal(api.seen[0]?.headers['idempotency-key'], prepared.idempotencyKey);
      },
    ),
    { numRuns: 100 },
  );
});

t.test('transient failures without end: unknown if any may hide an acceptance', async () => {
  await fc.assert(
    fc.asyncProperty(failures, async (script) => {
      api.play(...script);
      const result = await scripted.client({ giveUpAfterMs: 20_000 }).submit(draft);
      const met = script.slice(0, api.seen.length);
      const kind = met.some((reply) => mayHaveAccepted.includes(reply)) ? 'unknown' : 'refused';
      assert.equal(!result.ok && result.error.kind, kind);
      assert.equal(distinctRequests().keys, 1);
    }),
    { numRuns: 50 },
  );
});
