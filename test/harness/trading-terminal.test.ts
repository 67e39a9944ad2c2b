/** The time and soak harnesses' terminal keeps the protocol's order: the gateway is to blame for a lost report. */
import t from 'tap';
import { eventually } from '../support/eventually.js';
import { startFakeGateway } from '../support/fake-gateway.js';
import { Chance } from './chance.js';
import { TradingTerminal } from './trading-terminal.js';

const welcome = { outgoingQueue: { eventsMax: 100, ageMs: 60_000 } };
const behaviours = { fills: 1, fillsInParts: 0, rejects: 0, rests: 0, stalls: 0, ignores: 0 };

t.test('what is reported before the welcome follows what is redelivered', async (t) => {
  const gateway = await startFakeGateway();
  t.teardown(() => gateway.close());
  const source = { instanceId: 'desk-1', accountName: 'Sim101' };
  const terminal = new TradingTerminal(source, behaviours, 60_000, new Chance(1, 'terminal'));
  t.teardown(() => terminal.end());

  const first = terminal.connect(gateway.url, 'token');
  const lost = await gateway.connection();
  await Promise.all([lost.welcome(welcome), first]);
  terminal.sendEvent('one');
  await lost.next('event');
  await terminal.disconnect(true);

  const second = terminal.connect(gateway.url, 'token');
  const next = await gateway.connection();
  await eventually(() => next.frames.length > 0);
  terminal.sendEvent('two');
  await Promise.all([next.welcome(welcome), second]);
  terminal.sendEvent('three');
  const seqs = [];
  while (seqs.length < 3) seqs.push((await next.next('event')).seq);
  t.strictSame(seqs, [1, 2, 3]);
});
