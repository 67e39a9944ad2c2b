/** The answers to a bot when the disk is full: never a false success, never a false failure. */
import t from 'tap';
import {
  type Answer,
  bearer,
  call,
  codeOf,
  signal,
  status,
  submit,
  submitOnce,
  verdict,
} from '../support/api.js';
import { until } from '../support/eventually.js';
import { startTestGateway } from '../support/gateway.js';

const gateway = await startTestGateway(t);
const { key } = await gateway.user();
const small = await submit(gateway.url, key, signal(), 'small');
await gateway.process.stop();
await gateway.start({ fileBlocksMax: 3_000 });

const large = () => signal({ payload: { pad: 'x'.repeat(60_000) } });
const accepted: { body: string; idempotencyKey: string; answer: Answer }[] = [];
let failed = { body: '', idempotencyKey: '' };

t.test(
  'a signal that cannot be stored is signal_processing_failed, then its outcome is unknown',
  async (t) => {
    for (let i = 0; i < 1_000 && failed.body === ''; i++) {
      const body = JSON.stringify(large());
      const idempotencyKey = `large-${i}`;
      const answer = await submitOnce(gateway.url, key, body, idempotencyKey);
      if (answer.status === 202) {
        accepted.push({ body, idempotencyKey, answer });
        continue;
      }
      t.equal(verdict(answer), '500 signal_processing_failed');
      t.same(Object.keys(answer.body), ['error']);
      failed = { body, idempotencyKey };
    }
    const retry = await submitOnce(gateway.url, key, failed.body, failed.idempotencyKey);
    t.equal(verdict(retry), '409 idempotency_outcome_unknown');
    const other = await submitOnce(gateway.url, key, signal(), failed.idempotencyKey);
    t.equal(verdict(other), '409 idempotency_conflict', 'the key stays bound to its operation');
    const { signalId } = JSON.parse(failed.body) as { signalId: string };
    t.equal(
      verdict(await submitOnce(gateway.url, key, signal({ signalId }))),
      '409 duplicate_signal_id',
    );
  },
);

t.test('what was accepted before is read and replayed meanwhile', async (t) => {
  t.equal((await status(gateway.url, key, small.body.requestId)).status, 200);
  for (const { body, idempotencyKey, answer } of accepted) {
    t.equal((await submitOnce(gateway.url, key, body, idempotencyKey)).text, answer.text);
    t.equal((await status(gateway.url, key, answer.body.requestId)).status, 200);
  }
});

t.test('the doubt is cleared once the disk takes writes again', async (t) => {
  const cleared = await until(
    () => submitOnce(gateway.url, key, failed.body, failed.idempotencyKey),
    (answer) => codeOf(answer) !== 'idempotency_outcome_unknown',
  );
  // The retry is a new attempt: it fails again, unless the store found room in pages that it had freed.
  t.match(verdict(cleared), /^(500 signal_processing_failed|202)$/);
});

t.test(
  'with room again the retry is accepted once, and all that was accepted is still there',
  async (t) => {
    await gateway.process.kill();
    await gateway.start();
    const retried = await submitOnce(gateway.url, key, failed.body, failed.idempotencyKey);
    t.equal(retried.status, 202);
    const again = await submitOnce(gateway.url, key, failed.body, failed.idempotencyKey);
    t.equal(again.text, retried.text);
    t.equal(again.headers.get('idempotent-replayed'), 'true');
    for (const { body, idempotencyKey, answer } of accepted) {
      t.equal((await submitOnce(gateway.url, key, body, idempotencyKey)).text, answer.text);
    }
    const sources = await call(gateway.url, 'GET', '/api/v1/terminal-events/sources', {
      headers: bearer(key),
    });
    t.equal(sources.status, 200);
  },
);
