/** How the tests meet a disk that hangs. */
import t from 'tap';
import { submit } from './api.js';
import { startFakeApi } from './fake-api.js';
import { rawCall } from './raw-client.js';

t.test('a signal that a hanging disk refused is sent again with the same key', async (t) => {
  const api = await startFakeApi();
  t.teardown(() => api.close());
  api.play(
    { status: 500, body: { error: { code: 'signal_processing_failed' } } },
    { status: 409, body: { error: { code: 'request_in_progress' } } },
    { status: 503, body: { error: { code: 'storage_unavailable' } } },
    { status: 202, body: { requestId: 'req_1' } },
  );
  const answer = await submit(api.baseUrl, 'key', {});
  t.equal(answer.body.requestId, 'req_1');
  const [first] = api.seen;
  t.equal(api.seen.length, 4);
  for (const { headers } of api.seen) {
    t.equal(headers['idempotency-key'], first?.headers['idempotency-key']);
  }
});

t.test('so does a raw client; an answer that only mentions the code is taken', async (t) => {
  const api = await startFakeApi();
  t.teardown(() => api.close());
  const body = { error: { code: 'storage_unavailable' } };
  const headers = { 'content-length': `${JSON.stringify(body).length}` };
  api.play({ status: 503, headers, body }, { status: 200, headers, body });
  t.equal((await rawCall(api.baseUrl, 'POST', '/'))?.status, 200);
  t.equal(api.seen.length, 2);
});
