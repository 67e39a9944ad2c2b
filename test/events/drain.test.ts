/** At shutdown streams end properly, and their clients come back spread over time. */
import t from 'tap';
import { event, tell } from '../support/frames.js';
import { startTestGateway } from '../support/gateway.js';
import { openReader } from '../support/event-reader.js';

const gateway = await startTestGateway(t, { limits: { streamsPerUserMax: 20 } });

t.test('every stream ends properly with a retry of its own, and the exit code is 0', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const readers = await Promise.all(
    Array.from({ length: 20 }, () => openReader(gateway.url, user.key)),
  );
  await tell(plugin, event(1));
  for (const reader of readers) await reader.next('terminal_message');
  const exit = gateway.process.stop();
  for (const reader of readers) t.equal(await reader.waitEnd(), 'properly');
  t.equal(await exit, 0);
  const delays = readers.map(({ retries }) => retries.at(-1) as number);
  t.ok(
    readers.every(({ retries }) => retries.length === 2),
    'one at the start, one at the end',
  );
  t.ok(delays.every((delay) => delay >= 1_000 && delay <= 11_000));
  t.ok(new Set(delays).size > 10, `spread: ${delays.join(' ')}`);
  t.ok(Math.max(...delays) - Math.min(...delays) > 2_000);
});
