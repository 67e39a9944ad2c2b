/**
 * Runs the gateway's process: starts the gateway, prints the ready line, handles signals, exits. Standard
 * output carries only the ready line. The first SIGTERM or SIGINT starts a graceful shutdown, a second one
 * exits at once.
 */
import { setFlagsFromString } from 'node:v8';
import { createGateway } from './gateway.js';
import { systemClock } from './lib/clock.js';
import type { Settings } from './settings.js';
import { exposureOf } from './settings/exposure.js';
import { StartRefused } from './store/refusal.js';
import { createLog } from './telemetry/log.js';
import { createServiceManager } from './telemetry/service-manager.js';

const exitCodes = { done: 0, failed: 1 } as const;
/** 128 + signal number, as shells report it. */
const signalExitCodes = { SIGINT: 130, SIGTERM: 143 } as const;

/** Less than the 10 s that the documents promise for a stop. */
const stopTimeoutMs = 9_000;

/**
 * Runs until the process exits; never resolves. Reports a refused start with `tellRefusal`, and exits with 1.
 * @throws any other error.
 */
export async function main(
  settings: Settings,
  tellRefusal: (refusal: StartRefused) => void,
): Promise<void> {
  // What a start keeps would teach V8 to allocate the rows of every later read in the old space, where they stay until
  // a full collection: each scavenge then copies what they hold, for 10 to 20 ms (native-notes/profile.md).
  setFlagsFromString('--no-allocation-site-pretenuring');
  const log = createLog(settings.logLevel);
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'unexpected error; the gateway ends');
    process.exit(exitCodes.failed);
  });
  // The gateway goes on if the parent process closes the pipe after the ready line, or its disk is full.
  process.stdout
    .removeAllListeners('error')
    .on('error', (error) => log.warn({ err: error }, 'standard output cannot be written'));

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

  const exposure = exposureOf(settings);
  if (exposure !== undefined) log.warn(exposure);

  try {
    const { env: environment, pid } = process;
    const service = await createServiceManager({ environment, pid, clock: systemClock, log });
    // Nothing is served before it is ready, so nothing has to be drained.
    const gateway = await Promise.race([createGateway(settings, log), stopRequested]);
    if (gateway === undefined) process.exit(exitCodes.done);
    const { url, opsUrl } = gateway;
    process.stdout.write(`${JSON.stringify({ msg: 'ready', url, opsUrl })}\n`);
    service.ready(url);
    await stopRequested;
    service.stopping();
    systemClock.setTimer(stopTimeoutMs, () => {
      log.fatal('graceful shutdown timed out; the gateway exits');
      process.exit(exitCodes.failed);
    });
    await gateway.stop();
    process.exit(exitCodes.done);
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    tellRefusal(error);
    process.exit(exitCodes.failed);
  }
}
