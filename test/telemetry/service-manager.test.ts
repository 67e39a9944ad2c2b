import t, { type Test } from 'tap';
import { createLog } from '../../src/telemetry/log.js';
import type { Notify } from '../../src/telemetry/sd-notify.js';
import { createServiceManager, type ServiceManager } from '../../src/telemetry/service-manager.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { turns } from '../support/simulated-gateway.js';

interface Scene {
  readonly service: ServiceManager;
  readonly clock: SimulatedClock;
  readonly told: string[];
  readonly log: string[];
}

async function scene(
  environment: Record<string, string>,
  load?: (told: string[]) => Promise<Notify>,
): Promise<Scene> {
  const told: string[] = [];
  const log: string[] = [];
  const clock = new SimulatedClock();
  const service = await createServiceManager({
    environment,
    pid: 42,
    clock,
    log: createLog('info', { write: (line) => void log.push(line) }),
    load: () => load?.(told) ?? Promise.resolve((state) => Promise.resolve(told.push(state) > 0)),
  });
  return { service, clock, told, log };
}

const socket = { NOTIFY_SOCKET: '/run/systemd/notify' };

t.test('systemd hears that the gateway serves, and that it drains', async (t) => {
  const { service, told } = await scene(socket);
  t.same(told, [], 'nothing before it is ready');
  service.ready('http://127.0.0.1:8080');
  service.stopping();
  await turns();
  t.same(told, ['READY=1\nSTATUS=Serving at http://127.0.0.1:8080', 'STOPPING=1\nSTATUS=Draining']);
});

t.test(
  'the watchdog is fed twice in its time, from readiness on, also while draining',
  async (t) => {
    const { service, clock, told } = await scene({ ...socket, WATCHDOG_USEC: '30000000' });
    clock.advance(60_000);
    t.same(told, []);
    service.ready('http://127.0.0.1:8080');
    await turns();
    told.length = 0;
    clock.advance(14_999);
    await turns();
    t.same(told, []);
    clock.advance(1);
    await turns();
    t.same(told, ['WATCHDOG=1']);
    service.stopping();
    for (let i = 0; i < 2; i++) {
      await turns();
      clock.advance(15_000);
    }
    await turns();
    t.equal(told.filter((state) => state === 'WATCHDOG=1').length, 3);
  },
);

t.test('a watchdog for another process, or none, is not fed', async (t: Test) => {
  for (const watchdog of [
    { WATCHDOG_USEC: '30000000', WATCHDOG_PID: '41' },
    { WATCHDOG_USEC: '0' },
    { WATCHDOG_USEC: 'soon' },
    {},
  ]) {
    const { service, clock } = await scene({ ...socket, ...watchdog });
    service.ready('http://127.0.0.1:8080');
    t.equal(clock.timerCount, 0, JSON.stringify(watchdog));
  }
  const own = await scene({ ...socket, WATCHDOG_USEC: '30000000', WATCHDOG_PID: '42' });
  own.service.ready('http://127.0.0.1:8080');
  t.equal(own.clock.timerCount, 1);
});

t.test('without systemd nothing is loaded, and nothing is said', async (t) => {
  for (const environment of [{}, { NOTIFY_SOCKET: '', WATCHDOG_USEC: '30000000' }]) {
    const { service, clock, log } = await scene(environment, () => {
      throw new Error('loaded');
    });
    service.ready('http://127.0.0.1:8080');
    service.stopping();
    t.equal(clock.timerCount, 0);
    t.same(log, []);
  }
});

t.test('what cannot be told does not stop the gateway, and the log says what to do', async (t) => {
  const missing = await scene(socket, () => Promise.reject(new Error('no libsystemd.so.0')));
  missing.service.ready('http://127.0.0.1:8080');
  missing.service.stopping();
  t.match(missing.log.join(''), /install the optional package koffi.*Type=exec/);

  const deaf = await scene(socket, () => Promise.resolve(() => Promise.resolve(false)));
  deaf.service.ready('http://127.0.0.1:8080');
  await turns();
  t.match(deaf.log.join(''), /systemd could not be notified/);
});

t.test('while systemd does not read, one notice waits and no further one joins it', async (t) => {
  const told: string[] = [];
  const waiting: (() => void)[] = [];
  const { service, clock } = await scene({ ...socket, WATCHDOG_USEC: '30000000' }, () =>
    Promise.resolve((state) => {
      told.push(state);
      return new Promise((resolve) => waiting.push(() => resolve(true)));
    }),
  );
  service.ready('http://127.0.0.1:8080');
  for (let i = 0; i < 4; i++) {
    await turns();
    clock.advance(15_000);
  }
  service.stopping();
  await turns();
  t.equal(told.length, 1);
  waiting.shift()?.();
  await turns();
  t.match(told, [/^READY=1/, /^STOPPING=1/]);
  t.equal(told.length, 2);
});
