/** What the gateway of the tests must not hide. */
import t from 'tap';
import { startFakeApi } from './fake-api.js';
import { TestGateway, type TestUser } from './gateway.js';
import type { GatewayProcess } from './gateway-process.js';

t.test('an outcome that is unknown before a commit can be late is not repeated', async (t) => {
  const api = await startFakeApi();
  t.teardown(() => api.close());
  const gateway = new TestGateway('', {});
  gateway.process = { url: api.baseUrl } as GatewayProcess;
  api.play(
    { status: 500, body: { error: { code: 'signal_processing_failed' } } },
    { status: 202, body: { requestId: 'req_1' } },
  );
  await t.rejects(gateway.submit({ key: 'key' } as TestUser), /^submit: 500/);
  t.equal(api.seen.length, 1);
});
