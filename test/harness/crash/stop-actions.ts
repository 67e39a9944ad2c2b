/**
 * Stops the trading of the bots as an operator and a user do: halts, freezes, revokes keys, with a gateway
 * and without one. Owns the halt and the freezes that may be in force, which outlive the gateway.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf, createKey, login } from '../../support/api.js';
import type { Chance } from '../chance.js';
import type { CancelAllAnswer } from './cancel-alls.js';
import { CliCommand } from './cli-command.js';
import type { GatewayUnderTest } from './gateway-under-test.js';
import type { Ledger } from './ledger.js';
import { orderFilters } from './random-signal.js';
import type { Stop } from './stops.js';
import { askToDelete } from './tenant-actions.js';
import type { Ending } from './tenant.js';
import type { Trader } from './trader.js';

export interface StopActionsDeps {
  readonly gateway: GatewayUnderTest;
  readonly chance: Chance;
  readonly ledger: Ledger;
  readonly traders: readonly Trader[];
  readonly send: (command: CliCommand) => Promise<Ending>;
}

const kinds = { halt: 30, freeze: 25, revocation: 30, cancelAll: 15 } as const;
/** Share of the stops that stay in force until the next round. */
const lastingShare = 0.5;
const pauseMsMax = 900;
const endAttemptsMax = 10;
const traded = 'invalid_signal';

export class StopActions {
  /** Stops whose command was confirmed. */
  confirmed = 0;
  #lasting: Stop[] = [];
  readonly #deps: StopActionsDeps;

  constructor(deps: StopActionsDeps) {
    this.#deps = deps;
  }

  /** One stop after another while the bots trade. */
  async run(isStopped: () => boolean): Promise<void> {
    const { chance, gateway } = this.#deps;
    for (;;) {
      await sleep(chance.between(0, pauseMsMax));
      if (isStopped() || !gateway.isAlive) return;
      await this.act();
    }
  }

  /** Makes one stop, which ends soon or lasts until the next round. */
  async act(): Promise<void> {
    const { chance, gateway } = this.#deps;
    const kind = chance.weigh(kinds);
    const trader = chance.pick(this.#deps.traders.filter(({ submitKey }) => submitKey !== ''));
    if (kind === 'revocation') return this.#revoke(trader);
    if (kind === 'cancelAll') return this.#cancelAll(trader);
    const target = kind === 'halt' ? '' : trader.email;
    const isHeld = this.#lasting.some((stop) => stop.kindName === kind && stop.target === target);
    if (isHeld) return;
    const stop = this.#deps.ledger.conditions.stops.begin(kind, target);
    this.#lasting.push(stop);
    this.#took(stop, await this.#command(argsOf(stop, true)));
    if (gateway.isAlive) await sleep(chance.between(0, 300));
    if (!chance.happens(lastingShare)) await this.#end(stop);
  }

  /** After a restart, before any terminal connects: each stop is as its commands left it. */
  async inspect(): Promise<void> {
    const { ledger, traders } = this.#deps;
    const codes = new Map<Trader, string>();
    for (const trader of traders) {
      const answer = await trader.post('/api/v1/signals', 'a probe', '{}');
      codes.set(trader, answer === undefined ? 'none' : codeOf(answer));
    }
    for (const [trader, code] of codes) {
      const frozen = this.#find('freeze', trader.email);
      const halted = this.#find('halt', '');
      const mayBe = [
        ...(frozen === undefined ? [] : [frozen.kind.refusal]),
        ...(frozen?.isCertain || halted === undefined ? [] : [halted.kind.refusal]),
        ...(frozen?.isCertain || halted?.isCertain ? [] : [traded]),
      ];
      const evidence = () => ({ user: trader.email, code, frozen, halted });
      ledger.verdict.hold('a stop is as the operator left it', mayBe.includes(code), evidence);
      if (frozen !== undefined) this.#learn(frozen, code === frozen.kind.refusal);
      if (halted !== undefined && [halted.kind.refusal, traded].includes(code)) {
        this.#learn(halted, code === halted.kind.refusal);
      }
    }
  }

  /** @returns whether all stops are over; false if the gateway cannot end one. */
  async endAll(): Promise<boolean> {
    for (const stop of [...this.#lasting]) {
      for (let i = 0; i < endAttemptsMax && !stop.isOver; i++) await this.#end(stop);
    }
    return this.#lasting.length === 0;
  }

  async #end(stop: Stop): Promise<void> {
    stop.endingAt = Math.min(stop.endingAt, Date.now());
    if ((await this.#command(argsOf(stop, false))) === 'confirmed') this.#over(stop);
  }

  #over(stop: Stop): void {
    stop.endedAt = Date.now();
    this.#lasting = this.#lasting.filter((each) => each !== stop);
  }

  #learn(stop: Stop, isInForce: boolean): void {
    if (!isInForce) {
      stop.endingAt = Math.min(stop.endingAt, Date.now());
      this.#over(stop);
    } else if (stop.endingAt === Infinity) stop.inForceAt = Math.min(stop.inForceAt, Date.now());
  }

  /** The bots get a new key before the old one is revoked. */
  async #revoke(trader: Trader): Promise<void> {
    const { gateway, chance, ledger } = this.#deps;
    const old = { text: trader.submitKey, id: trader.submitKeyId, isValid: true };
    let token = '';
    if (gateway.isAlive) {
      try {
        ({ token } = await login(gateway.url, trader.email));
        const fresh = await createKey(gateway.url, token);
        trader.submitKey = fresh.key;
        trader.submitKeyId = fresh.id;
      } catch {
        return; // The gateway is gone or its disk is dead.
      }
    } else {
      // Until the next revocation the bots submit with the key that is never revoked.
      trader.submitKey = trader.key;
    }
    if (old.text === trader.key) return;
    const stop = ledger.conditions.stops.begin('revocation', old.text);
    const ending =
      token !== '' && chance.happens(0.5)
        ? await askToDelete(gateway.url, old, { text: token, id: 0, isValid: true })
        : await this.#command(['key', 'revoke', `${old.id}`]);
    this.#took(stop, ending);
  }

  #took(stop: Stop, ending: Ending): void {
    if (ending !== 'confirmed') return;
    stop.inForceAt = Date.now();
    this.confirmed++;
  }

  async #cancelAll({ email }: Trader): Promise<void> {
    const { gateway, ledger, chance, send } = this.#deps;
    const { instrument } = chance.pick(orderFilters) ?? {};
    const filter: Record<string, string> = instrument === undefined ? {} : { instrument };
    const each = ledger.cancelAlls.begin(email, 'cancelled_by_operator', filter, Date.now());
    const flags = instrument === undefined ? [] : ['--instrument', instrument];
    const args = ['user', 'cancel-all', email, '--json', ...flags];
    const command = new CliCommand(gateway.dataDir, args);
    if ((await send(command)) !== 'confirmed') return;
    ledger.noteCancelled(each, JSON.parse((await command.ended).stdout) as CancelAllAnswer);
  }

  #find(kind: Stop['kindName'], target: string): Stop | undefined {
    return this.#lasting.find((stop) => stop.kindName === kind && stop.target === target);
  }

  #command(args: readonly string[]): Promise<Ending> {
    return this.#deps.send(new CliCommand(this.#deps.gateway.dataDir, args));
  }
}

function argsOf({ kindName, target }: Stop, isBegin: boolean): string[] {
  if (kindName === 'halt') return [isBegin ? 'halt' : 'resume'];
  return ['user', 'set', target, '--frozen', `${isBegin}`];
}
