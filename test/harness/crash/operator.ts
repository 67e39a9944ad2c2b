/**
 * The operator and the tenants, one action after another while the bots trade: CLI commands on the
 * data directory, logins and API keys over HTTP. A confirmed change must be in effect at once and
 * after every crash. Some commands are killed while they run, some together with the gateway.
 */
import type { Chance } from '../chance.js';
import type { Verdict } from '../verdict.js';
import type { ApiSwitch } from './api-switch.js';
import { CliCommand } from './cli-command.js';
import type { GatewayUnderTest } from './gateway-under-test.js';
import type { Ledger } from './ledger.js';
import { deleteKey, gainKey, gainLogin } from './tenant-actions.js';
import { StopActions } from './stop-actions.js';
import { composeChange } from './tenant-changes.js';
import type { Ending, Tenant } from './tenant.js';
import type { Trader } from './trader.js';

export interface OperatorDeps {
  readonly gateway: GatewayUnderTest;
  readonly chance: Chance;
  readonly verdict: Verdict;
  readonly ledger: Ledger;
  readonly apiSwitch: ApiSwitch;
  readonly tenants: readonly Tenant[];
  readonly traders: readonly Trader[];
}

const actions = {
  change: 60,
  login: 8,
  'create key': 14,
  'delete key': 6,
  'api switch': 12,
} as const;
type Action = keyof typeof actions;

/** Share of the commands that are killed alone. */
const killedShare = 0.2;

export class Operator {
  readonly stops: StopActions;
  /** Commands that ended with 0, and that were killed. */
  confirmed = 0;
  killed = 0;
  /** Commands that have ended since the load was last started. */
  #endedNow = 0;
  #isStopped = true;
  #work: Promise<unknown> = Promise.resolve();
  #command: CliCommand | undefined;
  readonly #deps: OperatorDeps;
  readonly #actions: Readonly<Record<Action, (tenant: Tenant) => Promise<void>>>;

  constructor(deps: OperatorDeps) {
    this.#deps = deps;
    const { gateway, chance } = deps;
    const send = (command: CliCommand): Promise<Ending> => this.#send(command);
    this.stops = new StopActions({ ...deps, chance: chance.child('stops'), send });
    this.#actions = {
      change: (tenant) => this.#change(tenant),
      login: (tenant) => gainLogin(tenant, gateway.url),
      'create key': (tenant) => gainKey(tenant, gateway.url),
      'delete key': (tenant) => deleteKey(tenant, gateway.url, chance),
      'api switch': () => this.#closeForAMoment(),
    };
  }

  /** Before the first load: every tenant exists and has a login and API keys. */
  async open(): Promise<void> {
    const { gateway, tenants, chance } = this.#deps;
    for (const tenant of tenants) {
      await this.#change(tenant);
      await gainLogin(tenant, gateway.url);
      for (let i = chance.between(1, 3); i > 0; i--) await gainKey(tenant, gateway.url);
    }
  }

  /** Resolves when a command has ended since the load was started, or after `withinMs`. */
  async hasWorked(withinMs: number): Promise<void> {
    const end = performance.now() + withinMs;
    while (this.#deps.gateway.isAlive && this.#endedNow === 0 && performance.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  start(): void {
    this.#isStopped = false;
    this.#endedNow = 0;
    this.#work = Promise.all([this.#run(), this.stops.run(() => this.#isStopped)]);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#work;
  }

  /** The running command, or the next one. @returns undefined when none starts within `withinMs`. */
  async nextCommand(withinMs: number): Promise<CliCommand | undefined> {
    const end = performance.now() + withinMs;
    while (this.#command === undefined && performance.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return this.#command;
  }

  /** After a crash, before any other check: while the Public API is closed it refuses all requests. */
  async inspectSwitch(): Promise<void> {
    const { apiSwitch, gateway } = this.#deps;
    await apiSwitch.inspect(gateway.url, 'the API switch is as the operator left it');
    await apiSwitch.open();
  }

  /** A confirmed change is in effect; an interrupted one is complete or absent. */
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
      await this.#actions[tenant.state.exists ? chance.weigh(actions) : 'change'](tenant);
    }
  }

  async #change(tenant: Tenant): Promise<void> {
    const { gateway, chance } = this.#deps;
    const change = composeChange(tenant, chance);
    if (change === undefined) return;
    tenant.begin(change.next);
    const ending = await this.#send(new CliCommand(gateway.dataDir, change.args, change.input));
    tenant.end(ending);
    // A command that was cut off may still run in the gateway; the next start shows its outcome.
    if (ending !== 'cut off' && gateway.isAlive)
      await tenant.inspect(gateway.url, 'a command is in effect when it ends');
  }

  async #closeForAMoment(): Promise<void> {
    const { apiSwitch, gateway, chance } = this.#deps;
    for (const isOpen of [false, true]) {
      const ending = await this.#send(apiSwitch.turn(isOpen));
      if (ending === 'confirmed') apiSwitch.turned(isOpen);
      if (!gateway.isAlive) return;
      if (ending === 'confirmed')
        await apiSwitch.inspect(gateway.url, 'the API switch takes effect at once');
      await new Promise((resolve) => setTimeout(resolve, chance.between(0, 60)));
    }
    if (gateway.isAlive) await apiSwitch.open();
  }

  async #send(command: CliCommand): Promise<Ending> {
    const { chance, verdict, gateway, ledger } = this.#deps;
    const { starts } = gateway;
    this.#command = command;
    if (chance.happens(killedShare)) command.killAt(chance.between(50, 110) / 100);
    const { code, stderr } = await command.ended;
    this.#command = undefined;
    this.#endedNow++;
    if (code === 0) this.confirmed++;
    else if (command.isKilled) this.killed++;
    // The gateway carries the command out: a dead disk or the end of the gateway fails it, too.
    const isExcused = ledger.conditions.isDiskDead || !gateway.isAlive || gateway.starts !== starts;
    const isWell = code === 0 || command.isKilled || isExcused;
    verdict.hold('a command that is left alone succeeds', isWell, () => ({ code, stderr }));
    return code === 0 ? 'confirmed' : 'cut off';
  }
}
