/** The waits of a rule. */
import { once } from 'node:events';
import t from 'tap';
import { WebSocket } from 'ws';
import { Desk } from '../../src/conformance/desk.js';
import { Session } from '../../src/conformance/session.js';
import { pluginPath, subprotocol } from '../../src/plugins/protocol.js';
import { startFakeGateway } from '../support/fake-gateway.js';
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

t.test('a plugin that does not read what was sent is cut', async (t) => {
  const gateway = await startFakeGateway();
  t.teardown(() => gateway.close());
  const plugin = new WebSocket(gateway.url + pluginPath, subprotocol);
  const { socket } = await gateway.connection();
  await once(plugin, 'open');
  // Paused, it would not see that its connection has ended.
  t.teardown(() => plugin.terminate());
  plugin.pause();
  const clock = new SimulatedClock();
  const nothing = (): void => undefined;
  const session = new Session(socket, [], clock, {
    onFrame: nothing,
    onBadFrame: nothing,
    onChange: nothing,
    onLost: nothing,
  });
  // More than the sockets of both sides hold.
  session.send({ text: 'x'.repeat(2 ** 26) });
  const cut = session.cut();
  clock.advance(60_000);
  await cut;
  t.ok(session.isClosed);
  t.equal(clock.timerCount, 0);
});
