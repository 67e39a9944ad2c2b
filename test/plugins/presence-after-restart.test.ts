/** Sources that were seen before the gateway's end: active after it, and offline in their time. */
import t from 'tap';
import { bearer, call } from '../support/api.js';
import { startTestGateway } from '../support/gateway.js';
import { eventually } from '../support/eventually.js';
import { openReader } from '../support/event-reader.js';

/** Longer than a restart takes on a busy machine. */
const heartbeatWindowMs = 10_000;
const gateway = await startTestGateway(t, { limits: { heartbeatWindowMs } });

for (const end of ['SIGKILL', 'SIGTERM'] as const) {
  t.test(`a source that stays away over ${end} goes offline in its time`, async (t) => {
    const user = await gateway.user();
    const plugin = await gateway.plugin(user);
    const connectedAt = performance.now();
    const timer = setInterval(() => plugin.send({ type: 'heartbeat' }), 100);
    // What was last heard counts, and is on disk soon enough.
    await eventually(() => performance.now() > connectedAt + heartbeatWindowMs / 4);
    clearInterval(timer);
    await gateway.restart(end);
    const sources = async (): Promise<any[]> =>
      (
        await call(gateway.url, 'GET', '/api/v1/terminal-events/sources', {
          headers: bearer(user.key),
        })
      ).body.sources;
    const stream = await openReader(gateway.url, user.key);
    t.equal(stream.status, 200, 'still active');
    t.match(await sources(), [{ connected: false }]);
    const { data } = await stream.next('source_status');
    t.equal(data.data.status, 'offline');
    const wentAfter = performance.now() - connectedAt;
    t.ok(wentAfter > heartbeatWindowMs * 1.1, `${Math.round(wentAfter)} ms after its hello`);
    t.same(await sources(), []);
    stream.close();
  });
}
