/**
 * The gateway under test, one process after another on the same data directory: starts it, measures the
 * time to readiness, ends it by every signal, and checks its log.
 */
import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { startGateway, type GatewayProcess } from '../../support/gateway-process.js';
import { isQuiet } from '../quiet-log.js';
import type { Verdict } from '../verdict.js';
import { breakDisk, isAlive, isNativeAbort, mendDisk } from '../disk/write-failure.js';

/** A start takes about a second; more on a busy machine. */
const readyWithinMs = 30_000;
const drainWithinMs = 10_000;
const mendedWithinMs = 10_000;
const unreadyWithinMs = 2_000;

export class GatewayUnderTest {
  starts = 0;
  slowestReadyMs = 0;
  /** Processes that lmdb aborted on a dead disk. */
  nativeAborts = 0;
  #gateway: GatewayProcess | undefined;
  #isDiskBroken = false;
  #isKilled = false;

  constructor(
    readonly dataDir: string,
    readonly verdict: Verdict,
  ) {}

  get url(): string {
    return this.#running.url;
  }

  async start(config: object): Promise<void> {
    const startedAt = performance.now();
    this.starts++;
    this.#isDiskBroken = false;
    this.#gateway = await startGateway({ dataDir: this.dataDir, config });
    this.#isKilled = false;
    const ready = await this.#waitFor(200, readyWithinMs);
    const readyMs = performance.now() - startedAt;
    this.slowestReadyMs = Math.max(this.slowestReadyMs, readyMs);
    const isInTime = ready && readyMs <= readyWithinMs;
    this.verdict.hold('it is ready soon after every start', isInTime, () => ({ readyMs }));
  }

  /** Starts a process and kills it after `afterMs`. */
  async killWhileStarting(config: object, afterMs: number): Promise<void> {
    this.starts++;
    let killed: ChildProcess | undefined;
    try {
      const gateway = await startGateway({
        dataDir: this.dataDir,
        config,
        onSpawn: (process) => {
          setTimeout(() => {
            killed = process;
            process.kill('SIGKILL');
          }, afterMs);
        },
      });
      await gateway.kill();
      this.#readLog(gateway.log());
    } catch (error) {
      // The first line of the error is the cause, the others are the log.
      const [, ...log] = String(error).split('\n');
      this.verdict.hold('a start fails only when it is killed', killed !== undefined, () => error);
      this.#readLog(log.join('\n'));
    }
  }

  async kill(): Promise<void> {
    this.#checkAlive();
    await this.#strike();
    this.#readLog(this.#running.log());
  }

  /** SIGTERM, and SIGKILL after `killAfterMs`. */
  async drain(killAfterMs = Infinity): Promise<void> {
    this.#checkAlive();
    const gateway = this.#running;
    const startedAt = performance.now();
    const killer =
      killAfterMs === Infinity ? undefined : setTimeout(() => void this.#strike(), killAfterMs);
    const code = await gateway.stop();
    clearTimeout(killer);
    const drainMs = performance.now() - startedAt;
    const isWell =
      code === 0 ? drainMs <= drainWithinMs : code === null && killAfterMs !== Infinity;
    this.verdict.hold('SIGTERM ends it with 0 within 10 s', isWell, () => ({ code, drainMs }));
    this.#readLog(gateway.log());
  }

  breakDisk(): void {
    this.#isDiskBroken = true;
    breakDisk(this.#running.process);
  }

  mendDisk(): void {
    mendDisk(this.#running.process);
  }

  async waitMended(): Promise<void> {
    const isReady = await this.#waitFor(200, mendedWithinMs);
    this.verdict.hold('it recovers without a restart', isReady || this.hasAborted, () =>
      this.#running.log(),
    );
  }

  async waitUnready(): Promise<void> {
    const isUnready = await this.#waitFor(503, unreadyWithinMs);
    this.verdict.hold('it is not ready while the disk is dead', isUnready || this.hasAborted, () =>
      this.#running.log(),
    );
  }

  /** False from the kill on: other actors may notice the end before this process learns of it. */
  get isAlive(): boolean {
    return !this.#isKilled && isAlive(this.#running.process);
  }

  /** Whether lmdb has aborted the process, as it may after the disk died. */
  get hasAborted(): boolean {
    return this.#isDiskBroken && isNativeAbort(this.#running.process);
  }

  async #strike(): Promise<void> {
    this.#isKilled = true;
    await this.#running.kill();
  }

  #checkAlive(): void {
    const { process, log } = this.#running;
    const { hasAborted } = this;
    if (hasAborted) this.nativeAborts++;
    this.verdict.hold('it never ends by itself', this.isAlive || hasAborted, () => [
      process.exitCode,
      process.signalCode,
      log(),
    ]);
  }

  get #running(): GatewayProcess {
    if (this.#gateway === undefined) throw new Error('the gateway was not started');
    return this.#gateway;
  }

  async #waitFor(status: number, withinMs: number): Promise<boolean> {
    const end = performance.now() + withinMs;
    while (performance.now() < end && this.isAlive) {
      if ((await this.#readiness()) === status) return true;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return false;
  }

  /** @returns undefined when it does not answer. */
  async #readiness(): Promise<number | undefined> {
    try {
      return (await fetch(`${this.#running.opsUrl}/readyz`)).status;
    } catch {
      return undefined;
    }
  }

  /** Ignores the last line if it is incomplete, which a kill may leave. */
  #readLog(log: string): void {
    writeFileSync(`${this.dataDir}.start-${this.starts}.log`, log);
    for (const line of log.split('\n').slice(0, -1)) {
      // On a dead disk the gateway logs errors, and lmdb writes lines of its own.
      const isExpected = this.#isDiskBroken || isQuiet(line);
      this.verdict.hold('nothing unexpected is logged', isExpected, () => line);
    }
  }
}
