/**
 * The operator and the tenants at work while the bots trade: commands of the shell on the data
 * directory, logins and keys over HTTP, one deed after another. What was confirmed must hold at once
 * and over every crash. Some commands are killed on their way, some with the gateway.
 */
import type { Chance } from '../support/chance.js';
import type { Verdict } from '../support/verdict.js';
import type { ApiSwitch } from './api-switch.js';
import { Errand } from './errand.js';
import type { GatewayLives } from './gateway-lives.js';
import { deleteKey, gainKey, gainLogin } from './tenant-deeds.js';
import { composeChange } from './tenant-changes.js';
import type { Ending, Tenant } from './tenant.js';

export interface OperatorDeps {
  readonly gateway: GatewayLives;
  readonly chance: Chance;
  readonly verdict: Verdict;
  readonly apiSwitch: ApiSwitch;
  readonly tenants: readonly Tenant[];
}

const deeds = {
  change: 60,
  login: 8,
  'create key': 14,
  'delete key': 6,
  'api switch': 12,
} as const;
type Deed = keyof typeof deeds;

/** Of the commands, how many are killed by themselves. */
const killedShare = 0.2;

export class Operator {
  /** Commands that ended with 0, and that were killed. */
  confirmed = 0;
  killed = 0;
  /** Commands that have ended under the load that is on. */
  #endedNow = 0;
  #isStopped = true;
  #work: Promise<void> = Promise.resolve();
  #errand: Errand | undefined;
  readonly #deps: OperatorDeps;
  readonly #deeds: Readonly<Record<Deed, (tenant: Tenant) => Promise<void>>>;

  constructor(deps: OperatorDeps) {
    this.#deps = deps;
    const { gateway, chance } = deps;
    this.#deeds = {
      change: (tenant) => this.#change(tenant),
      login: (tenant) => gainLogin(tenant, gateway.url),
      'create key': (tenant) => gainKey(tenant, gateway.url),
      'delete key': (tenant) => deleteKey(tenant, gateway.url, chance),
      'api switch': () => this.#closeForAMoment(),
    };
  }

  /** Before the first load: every tenant is there, with something to lose. */
  async open(): Promise<void> {
    const { gateway, tenants, chance } = this.#deps;
    for (const tenant of tenants) {
      await this.#change(tenant);
      await gainLogin(tenant, gateway.url);
      for (let i = chance.between(1, 3); i > 0; i--) await gainKey(tenant, gateway.url);
    }
  }

  /** Resolves when a command of this load has ended, however. */
  async hasWorked(withinMs: number): Promise<void> {
    const end = performance.now() + withinMs;
    while (this.#deps.gateway.isAlive && this.#endedNow === 0 && performance.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  start(): void {
    this.#isStopped = false;
    this.#endedNow = 0;
    this.#work = this.#run();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#work;
  }

  /** The command under way, or the next one. @returns undefined where none comes for long. */
  async nextErrand(withinMs: number): Promise<Errand | undefined> {
    const end = performance.now() + withinMs;
    while (this.#errand === undefined && performance.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return this.#errand;
  }

  /** After a crash, before anything else: while the Public API is closed nobody gets an answer. */
  async inspectSwitch(): Promise<void> {
    const { apiSwitch, gateway } = this.#deps;
    await apiSwitch.inspect(gateway.url, 'the API switch is as the operator left it');
    await apiSwitch.open();
  }

  /** What was confirmed holds; what was cut off is whole or not there. */
  async inspectTenants(): Promise<void> {
    const { tenants, gateway } = this.#deps;
    for (const tenant of tenants) {
      await tenant.inspect(gateway.url, 'a change is whole or not there, and stays');
    }
  }

  async #run(): Promise<void> {
    const { chance, tenants, gateway } = this.#deps;
    while (!this.#isStopped && gateway.isAlive) {
      const settled = tenants.filter(({ isCertain }) => isCertain);
      if (settled.length === 0) return;
      const tenant = chance.pick(settled);
      await this.#deeds[tenant.state.exists ? chance.weigh(deeds) : 'change'](tenant);
    }
  }

  async #change(tenant: Tenant): Promise<void> {
    const { gateway, chance } = this.#deps;
    const change = composeChange(tenant, chance);
    if (change === undefined) return;
    tenant.begin(change.next);
    const ending = await this.#send(new Errand(gateway.dataDir, change.args, change.input));
    tenant.end(ending);
    if (gateway.isAlive) await tenant.inspect(gateway.url, 'a command is in effect when it ends');
  }

  async #closeForAMoment(): Promise<void> {
    const { apiSwitch, gateway, chance } = this.#deps;
    for (const isOpen of [false, true]) {
      const ending = await this.#send(apiSwitch.turn(isOpen));
      if (ending === 'confirmed') apiSwitch.turned(isOpen);
      if (!gateway.isAlive) return;
      await apiSwitch.inspect(gateway.url, 'the API switch is obeyed at once');
      await new Promise((resolve) => setTimeout(resolve, chance.between(0, 60)));
    }
    if (gateway.isAlive) await apiSwitch.open();
  }

  async #send(errand: Errand): Promise<Ending> {
    const { chance, verdict } = this.#deps;
    this.#errand = errand;
    if (chance.happens(killedShare)) errand.killAt(chance.between(50, 110) / 100);
    const { code, stderr } = await errand.ended;
    this.#errand = undefined;
    this.#endedNow++;
    if (code === 0) this.confirmed++;
    else if (errand.isKilled) this.killed++;
    const isWell = code === 0 || errand.isKilled;
    verdict.hold('a command that is left alone succeeds', isWell, () => ({ code, stderr }));
    return code === 0 ? 'confirmed' : 'cut off';
  }
}
