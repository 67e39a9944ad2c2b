import t from 'tap';
import {
  ConnectionLimit,
  connectionsMax,
  type RefusedConnections,
} from '../../src/http/connection-limit.js';
import { readFileLimit } from '../../src/lib/file-limit.js';
import type { HttpResponse, TemplatedApp } from '../../src/http/uws.js';
import { SimulatedClock } from '../support/simulated-clock.js';

function setUp(max: number) {
  const told: RefusedConnections[] = [];
  const clock = new SimulatedClock();
  let refused = 0;
  const limit = new ConnectionLimit({
    clock,
    onRefused: () => refused++,
    tell: (each) => told.push(each),
  });
  limit.max = max;
  let filter: (res: HttpResponse, change: number) => void = () => undefined;
  const app = { filter: (given: typeof filter) => (filter = given) };
  limit.watch(app as unknown as TemplatedApp);
  const leave = (): void => filter({} as HttpResponse, -1);
  /** @returns whether the connection stays open. */
  function arrive(): boolean {
    const before = refused;
    // The native server reports the end of a connection that is closed in this call within the call.
    filter({ close: leave } as unknown as HttpResponse, 1);
    return refused === before;
  }
  return { limit, clock, told, arrive, leave };
}

t.test('a connection beyond the limit is closed, until another one leaves', async (t) => {
  const { arrive, leave, limit } = setUp(2);
  t.same([arrive(), arrive(), arrive(), arrive()], [true, true, false, false]);
  leave();
  t.same([arrive(), arrive()], [true, false]);
  limit.webSocketClosed();
  t.same([arrive(), arrive()], [true, false]);
});

t.test('the first refusal is told at once, and those of a minute with its end', async (t) => {
  const { arrive, told, clock } = setUp(0);
  for (let i = 0; i < 5; i++) arrive();
  t.match(told, [{ refused: 1, connectionsMax: 0 }]);
  clock.advance(59_999);
  arrive();
  t.equal(told.length, 1);
  clock.advance(1);
  t.match(told.slice(1), [{ refused: 5 }]);
  clock.advance(60_000);
  t.equal(told.length, 2, 'none, and nothing is told');
  arrive();
  t.match(told.slice(2), [{ refused: 1 }]);
});

t.test('the process keeps descriptors in reserve, whatever its limit', async (t) => {
  t.equal(connectionsMax(65_536, 40), 65_336);
  t.equal(connectionsMax(1_024, 40), 824);
  t.equal(connectionsMax(128, 40), 56);
  t.equal(connectionsMax(64, 40), 8);
  t.equal(connectionsMax(40, 40), 1);
  t.equal(connectionsMax(Infinity, 40), Infinity);
});

t.test('where the system tells the limit of open files, there is one of connections', async (t) => {
  const limit = new ConnectionLimit({
    clock: new SimulatedClock(),
    onRefused: () => undefined,
    tell: () => undefined,
  });
  limit.measure();
  const openFilesMax = readFileLimit('self') ?? Infinity;
  t.ok(limit.max < openFilesMax || openFilesMax === Infinity, String(limit.max));
});
