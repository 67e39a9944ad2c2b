/**
 * The operator's switch of the Public API, closed for a moment under load, and its possible states: a
 * killed command may or may not have turned it.
 */
import type { Verdict } from '../verdict.js';
import { CliCommand } from './cli-command.js';
import type { Conditions } from './refusals.js';
import { getStatus } from './tenant-access.js';

export interface ApiSwitchDeps {
  readonly dataDir: string;
  readonly verdict: Verdict;
  readonly conditions: Conditions;
  /** Any valid API key. */
  readonly key: string;
}

export class ApiSwitch {
  #possible: readonly boolean[] = [true];

  constructor(readonly deps: ApiSwitchDeps) {}

  get isKnownOpen(): boolean {
    return this.#possible.every(Boolean);
  }

  turn(isOpen: boolean): CliCommand {
    this.#possible = [...new Set([...this.#possible, isOpen])];
    this.deps.conditions.mayBeClosed = true;
    return new CliCommand(this.deps.dataDir, ['api', isOpen ? 'enable' : 'disable']);
  }

  turned(isOpen: boolean): void {
    this.#possible = [isOpen];
    this.deps.conditions.mayBeClosed = !isOpen;
  }

  /** Checks that the gateway serves, or refuses, as the last commands allow. */
  async inspect(url: string, rule: string): Promise<void> {
    const { key, verdict, conditions } = this.deps;
    const status = await getStatus(url, '/api/v1/terminal-events/sources', key).catch(() => 0);
    // A draining gateway refuses everything.
    if (status === 0 || conditions.isDraining) return;
    const isOpen = status !== 503;
    const holds = this.#possible.includes(isOpen);
    verdict.hold(rule, holds, () => ({ status, possible: this.#possible }));
    this.turned(isOpen);
  }

  /** Opens it for the next load, unless it is known to be open. */
  async open(): Promise<void> {
    if (this.isKnownOpen) return;
    const { code, stderr } = await this.turn(true).ended;
    // The gateway cannot write it to a dead disk; the next start opens it.
    if (code !== 0 && this.deps.conditions.isDiskDead) return;
    this.deps.verdict.hold('a command that is left alone succeeds', code === 0, () => stderr);
    this.turned(true);
  }
}
