/** A bot across a restart of its gateway: it submits, follows and cancels, and learns what it missed. */
import t from 'tap';
import { createBotClient, type StreamItem } from '../../src/client/bot-client.js';
import { cancelReport, report, tell } from '../support/frames.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { startTestGateway } from '../support/gateway.js';
import { hello, openPlugin } from '../support/plugin.js';

const { platform, instanceId, accountName } = hello;
const source = { platform, instanceId, accountName };

/** A fixed port, as a service has: after a restart the bots ask at the same address. */
const gateway = await startTestGateway(t, { flags: ['--port', `${await freePort()}`] });
const { url } = gateway;

for (const end of ['stop', 'kill'] as const) {
  t.test(`an order is followed and cancelled over a ${end} of the gateway`, async (t) => {
    const { key, sessionToken } = await gateway.user();
    const bot = createBotClient({ baseUrl: url, apiKey: key });

    let plugin = await openPlugin(url, sessionToken);
    t.match(await bot.sources(), { ok: true, value: [{ ...source, connected: true }] });

    const items: StreamItem[] = [];
    const abort = new AbortController();
    const following = (async () => {
      for await (const item of bot.events(source, { signal: abort.signal })) items.push(item);
    })();
    t.teardown(() => abort.abort());
    const told = (name: string, fits: (data: any) => boolean) =>
      eventually(() =>
        items.find((item) => item.kind === 'event' && item.name === name && fits(item.data)),
      );

    // The stream is open as soon as it carries a new event.
    let seq = 0;
    const isFollowed = async (): Promise<boolean> => {
      await tell(plugin, { ...note, seq: ++seq });
      return items.length > 0;
    };
    await eventually(isFollowed);

    const submitted = await bot.submit({
      ttlMs: 60_000,
      platform,
      type: 'order',
      cmd: 'submit',
      payload: {
        instrument: 'ES',
        side: 'buy',
        executionType: 'limit',
        limitPrice: 1,
        quantity: 1,
      },
    });
    const requestId = submitted.ok ? submitted.value.requestId : t.fail(submitted.error.message);
    const { executionId, orderRef } = await plugin.next('submit', { requestId });
    await tell(plugin, report(++seq, executionId, 'working'));
    await told('command_result', (event) => event.orderRef === orderRef);
    t.match(await execution(), { status: 'working', orderRef, cancel: null });

    t.notOk(items.some(({ kind }) => kind === 'replay_gap'));
    await gateway.process[end]();
    await gateway.start();
    t.equal(gateway.url, url);
    const executions = [{ executionId, status: 'working', filledQuantity: 0 }];
    plugin = await openPlugin(url, sessionToken, { executions });
    const gap = await eventually(() => items.find(({ kind }) => kind === 'replay_gap'), 30_000);
    t.match(gap, { reason: 'cursor_not_available' }, 'the memory of the gateway began anew');
    t.equal(new Set(items.map(({ id }) => id)).size, items.length, 'no event came twice');

    const cancel = await bot.cancel(orderRef);
    t.match(cancel, { ok: true, value: { orderRef, executionId, requestId, replayed: false } });
    const { cancelRequestId } = await plugin.next('cancel', { orderRef });
    await tell(plugin, cancelReport(++seq, cancelRequestId, 'cancelled'));
    await told('cancel_update', (event) => event.data.status === 'cancelled');
    t.match(await execution(), { status: 'cancelled', cancel: { status: 'cancelled' } });
    t.match(await bot.cancel(orderRef), {
      error: { kind: 'refused', code: 'order_not_cancellable' },
    });
    t.equal(items.filter(({ kind }) => kind === 'replay_gap').length, 1, 'one gap, told once');

    abort.abort();
    await following;
    plugin.close();

    async function execution(): Promise<unknown> {
      const status = await bot.status(requestId as string);
      return status.ok ? status.value.executions[0] : status.error;
    }
  });
}

const note = { type: 'event', event: 'terminal_message', data: { text: 'here' } };

t.test('what is missed before the first event is told as a gap', async (t) => {
  const { key, sessionToken } = await gateway.user();
  const plugin = await openPlugin(url, sessionToken);
  // The event is acknowledged, so that the source is on disk before the gateway is killed.
  await tell(plugin, { ...note, seq: 1 });
  plugin.close();

  let streams = 0;
  const counted: typeof fetch = async (...request) => {
    const response = await fetch(...request);
    if (response.ok) streams++;
    return response;
  };
  const bot = createBotClient({ baseUrl: url, apiKey: key, fetch: counted });
  const events = bot.events(source);
  const first = events.next();
  await eventually(() => streams === 1);
  await gateway.process.kill();
  await gateway.start();
  t.match((await first).value, { kind: 'replay_gap', reason: 'cursor_not_available' });
  await events.return();
});
