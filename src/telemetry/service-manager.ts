/**
 * What systemd is told of the gateway (`Type=notify`): that it serves, that it drains, and, where the
 * unit has a watchdog, that its event loop still turns. Health plays no part in that: a full disk
 * must not end in one restart after another. Owns the watchdog's timer, for the life of the process.
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
  const nobody: ServiceManager = { ready: () => undefined, stopping: () => undefined };
  if ((environment['NOTIFY_SOCKET'] ?? '') === '') return nobody;
  let notify: Notify;
  try {
    notify = await load();
  } catch (error) {
    log.warn(
      { err: error },
      'systemd waits to hear when the gateway is ready, but it cannot be told: install the optional ' +
        'package koffi and the library libsystemd, or use Type=exec without WatchdogSec in the unit',
    );
    return nobody;
  }

  function tell(...lines: string[]): void {
    if (!notify(lines.join('\n'))) log.warn({ lines }, 'systemd could not be told');
  }

  return {
    ready(url) {
      tell('READY=1', `STATUS=Serving at ${url}`);
      const intervalMs = watchdogIntervalMs(deps);
      if (intervalMs !== undefined) every(clock, intervalMs, () => tell('WATCHDOG=1'));
    },
    stopping: () => tell('STOPPING=1', 'STATUS=Draining'),
  };
}

/** Half of what systemd waits, as it recommends; undefined when it expects nothing of this process. */
function watchdogIntervalMs({ environment, pid }: ServiceManagerDeps): number | undefined {
  const timeoutUs = Number(environment['WATCHDOG_USEC'] ?? 0);
  const expected = environment['WATCHDOG_PID'];
  if (!(timeoutUs > 0) || (expected !== undefined && expected !== `${pid}`)) return undefined;
  return timeoutUs / 1000 / 2;
}
