/**
 * The gateway of one target, a process with users of its own. Checks what must hold for any input: the
 * gateway runs, is ready, logs nothing unexpected and bounds its memory. Ends with the run.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { memoryBytes } from '../../../bench/measure/memory.js';
import { createKey, login, signal, submit } from '../../support/api.js';
import { eventually } from '../../support/eventually.js';
import { addUser, startGateway, type GatewayProcess } from '../../support/gateway-process.js';
import { openPlugin, type Plugin } from '../../support/plugin.js';
import { isQuiet } from '../quiet-log.js';
import type { FuzzRun } from './target.js';

export interface Member {
  readonly email: string;
  /** User JWT. */
  readonly token: string;
  readonly sessionToken: string;
  /** A key with every scope. */
  readonly key: string;
}

/** More than all pending requests need, less than a leak would reach. */
const memoryGrowthMaxMb = 400;
/** Well within the heartbeat window of two minutes. */
const heartbeatMs = 10_000;
const plans = {
  business: { publicApi: true, signalsPerMinute: 1_000_000, signalsPerDay: 1_000_000_000 },
};

export class FuzzedGateway {
  /** Highest reading, in MB. */
  memoryMb = 0;
  #firstMemoryMb: number | undefined;
  #logRead = 0;

  private constructor(
    readonly run: FuzzRun,
    readonly dataDir: string,
    readonly process: GatewayProcess,
  ) {}

  /** `emails`: the users to add, with the password of the tests. */
  static async open(
    run: FuzzRun,
    name: string,
    emails: readonly string[],
    limits: Readonly<Record<string, number>>,
  ): Promise<FuzzedGateway> {
    const dataDir = join(run.directory, name);
    for (const email of emails) await addUser(dataDir, email);
    const process = await startGateway({ dataDir, config: { limits, plans } });
    return new FuzzedGateway(run, dataDir, process);
  }

  get url(): string {
    return this.process.url;
  }

  async member(email: string): Promise<Member> {
    const tokens = await login(this.url, email);
    const { key } = await createKey(this.url, tokens.token);
    return { email, ...tokens, key };
  }

  /** Checks the gateway, and that a signal is still accepted and delivered. */
  async checkHealth(member: Member, terminal: Plugin): Promise<void> {
    const { verdict } = this.run;
    const { process, log } = this.process;
    const isAlive = process.exitCode === null && process.signalCode === null;
    const end = (): unknown => [process.exitCode, process.signalCode, log()];
    if (!verdict.hold('the gateway lives', isAlive, end)) return;
    const ready = (await fetch(`${this.process.opsUrl}/readyz`)).status;
    verdict.hold('the gateway is ready', ready === 200, () => ready);
    const answer = await submit(this.url, member.key, signal());
    verdict.hold('a valid signal is accepted', answer.status === 202, () => answer.text);
    if (answer.status === 202) {
      await terminal.next('submit', { signalId: answer.body.signalId });
      verdict.hold('a valid signal is delivered', true, () => undefined);
    }
    this.#readLog();
    const memoryMb = ownMemoryMb(process.pid as number);
    this.#firstMemoryMb ??= memoryMb;
    this.memoryMb = Math.max(this.memoryMb, memoryMb);
    const isBounded = memoryMb - this.#firstMemoryMb <= memoryGrowthMaxMb;
    verdict.hold('memory stays bounded', isBounded, () => ({
      from: this.#firstMemoryMb,
      memoryMb,
    }));
  }

  /** Reports an error that cannot occur while the gateway runs. */
  failed(error: unknown): void {
    const { process, log } = this.process;
    this.run.verdict.hold('the gateway does not break off', false, () => [
      error,
      process.exitCode,
      process.signalCode,
      log(),
    ]);
  }

  /** Stops it with SIGTERM at the end of the target. */
  async stop(): Promise<void> {
    const code = await this.process.stop();
    this.run.verdict.hold('the gateway drains and ends with 0', code === 0, () => code);
    this.#readLog();
  }

  /** Open descriptors of the process. */
  get descriptors(): number {
    return readdirSync(`/proc/${this.process.process.pid as number}/fd`).length;
  }

  /** Waits until no more than `count` descriptors are open. */
  async descriptorsBackTo(count: number): Promise<void> {
    if (this.process.process.exitCode !== null || this.process.process.signalCode !== null) return;
    await eventually(() => this.descriptors <= count, 60_000).catch(() => undefined);
    const { descriptors } = this;
    this.run.verdict.hold('descriptors return to where they were', descriptors <= count, () => ({
      before: count,
      after: descriptors,
    }));
  }

  #readLog(): void {
    const log = this.process.log();
    const whole = log.slice(this.#logRead, log.lastIndexOf('\n') + 1);
    this.#logRead += whole.length;
    for (const line of whole.split('\n').slice(0, -1)) {
      this.run.verdict.hold('nothing unexpected is logged', isQuiet(line), () => line);
    }
  }
}

/** Opens a plugin for terminal_a that sends heartbeats and no reports. */
export async function openTerminal(url: string, member: Member): Promise<Plugin> {
  const plugin = await openPlugin(url, member.sessionToken, { instanceId: 'fuzz-1' });
  const beat = setInterval(() => plugin.send({ type: 'heartbeat' }), heartbeatMs);
  plugin.socket.on('close', () => clearInterval(beat));
  return plugin;
}

/** Memory of the process in MB, without the mapped pages of the store. */
export function ownMemoryMb(pid: number): number {
  return Math.round(memoryBytes(pid, 'own') / 2 ** 20);
}
