/**
 * The dead-man's switches of the run's API keys: the calls that set each, in order, and when a read showed
 * that it fired. A switch that is due fires once, over all restarts of the gateway. Times are wall times in
 * Unix ms.
 */
import type { Operation } from './operation.js';

export interface SwitchView {
  readonly armed: boolean;
  readonly firesAt: string | null;
  readonly lastFiredAt: string | null;
}

interface Setting {
  readonly sentAt: number;
  /** Infinity: no answer came. */
  answeredAt: number;
  /** Infinity: disarmed. The earliest time possible until the answer gives the exact one. */
  firesAt: number;
  /** When this setting fired, by a read; Infinity: not yet. */
  firedAt: number;
}

/** Longest time from the deadline, or a start after it, until the cancels are durable on a busy machine. */
const settledMs = 3_000;
/** A timer may be early by the wall clock: it counts whole milliseconds of another clock. */
const earlyMs = 20;

export class KeySwitch {
  /** A call is under way. */
  isBusy = false;
  readonly #settings: Setting[] = [];
  #lastFiredAt = 0;

  /** `timeoutMs`: 0 disarms. */
  begin(timeoutMs: number): Setting {
    const sentAt = Date.now();
    const firesAt = timeoutMs === 0 ? Infinity : sentAt + timeoutMs;
    const setting = { sentAt, answeredAt: Infinity, firesAt, firedAt: Infinity };
    this.#settings.push(setting);
    return setting;
  }

  answered(setting: Setting, { firesAt }: SwitchView): void {
    setting.answeredAt = Date.now();
    setting.firesAt = firesAt === null ? Infinity : Date.parse(firesAt);
  }

  withdraw(setting: Setting): void {
    this.#settings.splice(this.#settings.indexOf(setting), 1);
  }

  /** When the last setting that may fire has taken effect; 0 if none may. */
  get settledAt(): number {
    const due = this.#settings.filter((each) => each.firesAt < Infinity && this.#mayFire(each));
    return Math.max(0, ...due.map(({ firesAt }) => firesAt + settledMs));
  }

  /** Whether the switch may have cancelled an order that was accepted at `acceptedAt`. */
  mayCancel(acceptedAt: number): boolean {
    return this.#settings.some(
      (each) => each.firesAt <= Date.now() && this.#mayFire(each) && acceptedAt <= each.firedAt,
    );
  }

  /** Whether the switch must have cancelled an order that was accepted at `acceptedAt`. */
  hasCancelled(acceptedAt: number, upSince: number): boolean {
    const last = this.#settings.at(-1);
    return last !== undefined && this.#isOverdue(last, upSince) && acceptedAt < last.firesAt;
  }

  /** @returns each rule with whether `view` obeys it. */
  judge(view: SwitchView, upSince: number): [string, boolean][] {
    const firedAt = view.lastFiredAt === null ? 0 : Date.parse(view.lastFiredAt);
    const last = this.#settings.at(-1);
    const isOverdue = last !== undefined && this.#isOverdue(last, upSince);
    const isAhead =
      last !== undefined && last.answeredAt < Infinity && Date.now() + earlyMs < last.firesAt;
    const hasFired = firedAt > this.#lastFiredAt;
    const causes = this.#settings.filter(
      (each) =>
        each.firesAt - earlyMs <= firedAt && each.firedAt === Infinity && this.#mayFire(each),
    );
    const rules: [string, boolean][] = [
      ['a switch remembers that it fired', firedAt >= this.#lastFiredAt && firedAt <= Date.now()],
      ['a switch fires once, and only when it is due', !hasFired || causes.length > 0],
      [
        'a switch that is due fires',
        !isOverdue || (!view.armed && firedAt >= last.firesAt - earlyMs),
      ],
      [
        'a switch stays as it was set until it is due',
        !isAhead || (view.firesAt === null ? Infinity : Date.parse(view.firesAt)) === last.firesAt,
      ],
    ];
    this.#lastFiredAt = firedAt;
    for (const each of hasFired ? causes : []) each.firedAt = firedAt;
    return rules;
  }

  /** False if a later call was answered before this setting was due. */
  #mayFire(setting: Setting): boolean {
    const later = this.#settings.slice(this.#settings.indexOf(setting) + 1);
    return !later.some(({ answeredAt }) => answeredAt < setting.firesAt);
  }

  #isOverdue({ answeredAt, firesAt }: Setting, upSince: number): boolean {
    return answeredAt < Infinity && Math.max(firesAt, upSince) + settledMs <= Date.now();
  }
}

export class KeySwitches {
  /** When the gateway became ready. */
  upSince = 0;
  /** API key → its switch. */
  readonly byKey = new Map<string, KeySwitch>();

  of(apiKey: string): KeySwitch {
    const known = this.byKey.get(apiKey) ?? new KeySwitch();
    this.byKey.set(apiKey, known);
    return known;
  }

  get settledAt(): number {
    return Math.max(0, ...[...this.byKey.values()].map(({ settledAt }) => settledAt));
  }

  mayCancel({ apiKeys }: Operation, acceptedAt: number): boolean {
    return [...apiKeys].some((key) => this.byKey.get(key)?.mayCancel(acceptedAt) === true);
  }

  /** False for a signal that two keys sent: either may have submitted it. */
  hasCancelled({ apiKeys }: Operation, acceptedAt: number): boolean {
    const [key = '', ...others] = apiKeys;
    const isSure = others.length === 0;
    return isSure && this.byKey.get(key)?.hasCancelled(acceptedAt, this.upSince) === true;
  }
}
