/**
 * Notifies systemd (`Type=notify`): ready, stopping, and watchdog keep-alives if the unit has a watchdog. The
 * watchdog checks only the event loop, not the health: a full disk must not cause a restart loop. Owns the
 * watchdog's timer, for the life of the process.
 */
import { type Clock, every } from '../lib/clock.js';
import type { Log } from './log.js';
import { loadSdNotify, type Notify } from './sd-notify.js';

export interface ServiceManager {
  /** The ports are open. */
  ready(url: string): void;
  stopping(): void;
}

export interface ServiceManagerDeps {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly load?: () => Promise<Notify>;
}

export async function createServiceManager(deps: ServiceManagerDeps): Promise<ServiceManager> {
  const { environment, clock, log, load = loadSdNotify } = deps;
  const noServiceManager: ServiceManager = { ready: () => undefined, stopping: () => undefined };
  if ((environment['NOTIFY_SOCKET'] ?? '') === '') return noServiceManager;
  let notify: Notify;
  try {
    notify = await load();
  } catch (error) {
    log.warn(
      { err: error },
      'systemd cannot be notified that the gateway is ready: install the optional package koffi and the ' +
        'library libsystemd, or use Type=exec without WatchdogSec in the unit',
    );
    return noServiceManager;
  }

  let newest = Promise.resolve();
  let underWay = 0;

  /** In order, and without waiting: a systemd that does not read must not stop the gateway. */
  function send(...lines: string[]): void {
    underWay++;
    newest = newest.then(async () => {
      if (!(await notify(lines.join('\n')))) log.warn({ lines }, 'systemd could not be notified');
      underWay--;
    });
  }

  function keepAlive(): void {
    if (underWay === 0) send('WATCHDOG=1');
  }

  return {
    ready(url) {
      send('READY=1', `STATUS=Serving at ${url}`);
      const intervalMs = watchdogIntervalMs(deps);
      if (intervalMs !== undefined) every(clock, intervalMs, keepAlive);
    },
    stopping: () => send('STOPPING=1', 'STATUS=Draining'),
  };
}

/** @returns half of systemd's timeout, as it recommends; undefined without a watchdog for this process. */
function watchdogIntervalMs({ environment, pid }: ServiceManagerDeps): number | undefined {
  const timeoutUs = Number(environment['WATCHDOG_USEC'] ?? 0);
  const expected = environment['WATCHDOG_PID'];
  if (!(timeoutUs > 0) || (expected !== undefined && expected !== `${pid}`)) return undefined;
  return timeoutUs / 1000 / 2;
}
