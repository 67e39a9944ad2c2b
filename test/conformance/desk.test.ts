/** The waits of a rule. */
import { once } from 'node:events';
import t from 'tap';
import { WebSocket } from 'ws';
import { Desk } from '../../src/conformance/desk.js';
import { pluginPath } from '../../src/plugins/protocol.js';
import { SimulatedClock } from '../support/simulated-clock.js';

t.test('what came while the judge stood still is in time', async (t) => {
  const clock = new SimulatedClock();
  const bounds = { answerMs: 1_000, helloMs: 1_000, connectMs: 1_000, awayMs: 1_000, backlog: 1 };
  const orders = { clock, instrument: 'ES', quantity: 1, limitPrice: 4_900 };
  const desk = new Desk({ ...bounds, ...orders, password: 'secret', onWaiting: () => undefined });
  await desk.stage.open('127.0.0.1', 0);
  t.teardown(() => desk.stage.close());
  const attempt = desk.until('an attempt', () => desk.stage.attempts[0]);
  clock.elapse(60_000);
  clock.advance(0);
  const refused = once(new WebSocket(desk.stage.url + pluginPath), 'error');
  await attempt;
  t.match(await refused, [{ message: /401/ }]);
  const nothing = desk.until('a frame', () => undefined);
  clock.advance(60_000);
  await t.rejects(nothing, { message: 'There was no frame within 1000 ms.' });
});
