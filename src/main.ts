/**
 * The life of the gateway's process: start, ready line, signals, end. Standard output carries the
 * ready line alone. The first SIGTERM or SIGINT drains, a second one ends the process at once.
 */
import { createGateway } from './gateway.js';
import { systemClock } from './lib/clock.js';
import type { Settings } from './settings.js';
import { StartRefused } from './store/refusal.js';
import { createLog } from './telemetry/log.js';
import { createServiceManager } from './telemetry/service-manager.js';

const exitCodes = { done: 0, failed: 1 } as const;
/** What a shell reports for a process that a signal ended. */
const signalExitCodes = { SIGINT: 130, SIGTERM: 143 } as const;

/** Within the 10 s that an operator may count on. */
const stopTimeoutMs = 9_000;

/** Ends the process itself; resolves only for a refused start, with the exit code set. */
export async function main(settings: Settings): Promise<void> {
  const log = createLog(settings.logLevel);
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'unexpected error; the gateway ends');
    process.exit(exitCodes.failed);
  });
  // Whoever started us may close the pipe after the ready line, and be gone.
  process.stdout.on('error', (error) => log.warn({ err: error }, 'standard output is closed'));

  const stopRequested = new Promise<void>((resolve) => {
    let isStopping = false;
    for (const [signal, code] of Object.entries(signalExitCodes)) {
      process.on(signal, () => {
        if (isStopping) process.exit(code);
        isStopping = true;
        log.info({ signal }, 'asked to stop');
        resolve();
      });
    }
  });

  try {
    const { env: environment, pid } = process;
    const service = await createServiceManager({ environment, pid, clock: systemClock, log });
    const gateway = await createGateway(settings, log);
    const { url, opsUrl } = gateway;
    process.stdout.write(`${JSON.stringify({ msg: 'ready', url, opsUrl })}\n`);
    service.ready(url);
    await stopRequested;
    service.stopping();
    systemClock.setTimer(stopTimeoutMs, () => {
      log.fatal('draining took too long; the gateway ends without having finished it');
      process.exit(exitCodes.failed);
    });
    await gateway.stop();
    process.exit(exitCodes.done);
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(exitCodes.failed);
  }
}
