/** Sources that were seen before the gateway's end: active after it, and offline in their time. */
import t from 'tap';
import { startTestGateway } from '../support/gateway.js';
import { eventually } from '../support/eventually.js';
import { openReader } from '../support/event-reader.js';

/** Longer than a restart takes; a machine that pauses may need another attempt. */
const heartbeatWindowMs = 10_000;
const attemptsMsMax = 240_000;
const gateway = await startTestGateway(t, { limits: { heartbeatWindowMs } });

for (const end of ['SIGKILL', 'SIGTERM'] as const) {
  t.test(`a source that stays away over ${end} goes offline in its time`, async (t) => {
    const { user, connectedAt, stream } = await eventually(async () => {
      const user = await gateway.user();
      const plugin = await gateway.plugin(user);
      const connectedAt = performance.now();
      const timer = setInterval(() => plugin.send({ type: 'heartbeat' }), 100);
      // The window runs from the last frame, whose time has to reach the disk.
      await eventually(() => performance.now() > connectedAt + heartbeatWindowMs / 4);
      clearInterval(timer);
      await gateway.restart(end);
      const stream = await openReader(gateway.url, user.key);
      const [source] = await gateway.sources(user);
      if (stream.status === 200 && source?.connected === false) {
        return { user, connectedAt, stream };
      }
      stream.close();
      const tookMs = performance.now() - connectedAt;
      if (tookMs > heartbeatWindowMs) return undefined;
      throw new Error(`no longer active after ${Math.round(tookMs)} ms`);
    }, attemptsMsMax);
    const { data } = await stream.next('source_status');
    t.equal(data.data.status, 'offline');
    const wentAfter = performance.now() - connectedAt;
    t.ok(wentAfter > heartbeatWindowMs * 1.1, `${Math.round(wentAfter)} ms after its hello`);
    t.same(await gateway.sources(user), []);
    stream.close();
  });
}
