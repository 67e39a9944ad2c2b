/** Upgrades of a user that sent too much, until it may connect again, and of one that connects too often. */
import t from 'tap';
import { createSession } from '../../src/auth/session-token.js';
import type { HttpRequest, TemplatedApp } from '../../src/http/uws.js';
import { noTrail } from '../../src/model/trail-events.js';
import { Budgets, framesPerUpgrade } from '../../src/plugins/budget.js';
import { pluginPath, subprotocol } from '../../src/plugins/protocol.js';
import { type PluginSocketsDeps, registerPluginSockets } from '../../src/plugins/socket.js';
import { routes } from '../../src/routes.js';
import { createInstruments } from '../../src/telemetry/instruments.js';
import { createMemoryStore } from '../support/memory-store.js';
import { RecordedResponse } from '../support/recorded-response.js';
import { shippedLimits } from '../support/shipped-limits.js';
import { user } from '../support/simulated-gateway.js';
import { TickingClock } from '../support/ticking-clock.js';

const barMs = 5_000;

t.test('every refusal says when to come again', async (t) => {
  let refusals = 0;
  for (let before = 0; before < 6; before++) {
    const { clock, budgets, upgrade } = await setUp();
    budgets.of(user.userId).spend(Infinity);
    clock.advance(barMs - before);
    const { status, headers } = upgrade();
    if (!status.startsWith('429')) continue;
    refusals++;
    t.ok(headers.includes('Retry-After: 1'), `${before} ms before`);
  }
  t.ok(refusals > 0);
});

t.test('an upgrade counts as many frames', async (t) => {
  const { budgets, upgrade } = await setUp();
  const burst = 10 * shippedLimits().pluginFramesPerSecond;
  budgets.of(user.userId).spend(0, burst - framesPerUpgrade / 2);
  t.match(upgrade().status, /^429/);
});

async function setUp() {
  const clock = new TickingClock();
  const store = createMemoryStore(clock);
  await store.write((batch) => batch.put('users', user.userId, user));
  const token = await createSession(store, user, clock.now(), 60_000);
  const budgets = new Budgets({ clock, limits: shippedLimits() });
  let upgradeOf = (_res: unknown, _req: HttpRequest): void => undefined;
  const app = {
    ws: (_path: string, { upgrade }: { upgrade: typeof upgradeOf }) => (upgradeOf = upgrade),
  };
  const deps: Partial<PluginSocketsDeps> = {
    store,
    clock,
    nextTraceId: () => 'trace',
    addressOf: () => Uint8Array.of(192, 0, 2, 1),
    isDraining: () => false,
    trail: noTrail,
    upgradesRefused: createInstruments(routes).upgradesRefused,
    connection: { budgets } as PluginSocketsDeps['connection'],
    onError(error) {
      throw error;
    },
  };
  registerPluginSockets(app as unknown as TemplatedApp, deps as PluginSocketsDeps);
  const headers: Record<string, string> = {
    authorization: `Bearer ${token}`,
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-protocol': subprotocol,
  };
  return {
    clock,
    budgets,
    upgrade: () => {
      const response = new RecordedResponse();
      const native = Object.assign(response, { upgrade: () => undefined });
      const request = {
        getUrl: () => pluginPath,
        getHeader: (name: string) => headers[name] ?? '',
        forEach: (take: (name: string, value: string) => void) =>
          Object.entries(headers).forEach(([name, value]) => take(name, value)),
      };
      upgradeOf(native, request as unknown as HttpRequest);
      return response;
    },
  };
}
