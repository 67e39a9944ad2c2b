/**
 * Decides whether orders may be sent: not while the gateway is halted or the user is frozen, nor once the key
 * that submitted them is revoked. Reads the store for every decision, so that a stop counts from its commit
 * on, for requests and frames alike.
 */
import { toIsoTime } from '../lib/clock.js';
import type { Switches } from '../model/records.js';
import type { Reader, TransactOptions, Writer } from '../store/store.js';

/** Why an order may not be sent; also the error of a new signal, except for a revoked key. */
export type Stop = 'account_frozen' | 'trading_halted' | 'key_revoked';

const goingOn: Switches['halt'] = { halted: false, reason: null, since: null };

export function readHalt(reader: Reader): Switches['halt'] {
  return (reader.get('switches', 'halt') as Switches['halt'] | undefined) ?? goingOn;
}

/** @returns undefined while trading goes on. */
export function haltText({ halted, reason, since }: Switches['halt']): string | undefined {
  if (!halted) return undefined;
  const time = toIsoTime(since ?? 0);
  return `ready, trading halted since ${time}${reason === null ? '' : `: ${reason}`}`;
}

/** How a stop is written: it must not wait for room on a full disk. */
export const stopping: TransactOptions = { usesReserve: true };

/** Halts trading. A halt in force keeps its time; a new reason replaces the old one. */
export function halt(transaction: Reader & Writer, reason: string | null, now: number) {
  const before = readHalt(transaction);
  const halted = before.halted
    ? { ...before, reason: reason ?? before.reason }
    : { halted: true, reason, since: now };
  transaction.put('switches', 'halt', halted);
  return halted;
}

export function resumeTrading(transaction: Writer): Switches['halt'] {
  transaction.put('switches', 'halt', goingOn);
  return goingOn;
}

export class Brakes {
  readonly #store: Reader;

  constructor(store: Reader) {
    this.#store = store;
  }

  get isHalted(): boolean {
    return readHalt(this.#store).halted;
  }

  /** @param keyId the key that submitted the order; undefined in old records, which no key can stop. */
  stopOf(userId: string, keyId: number | undefined): Stop | undefined {
    const user = this.#store.get('users', userId);
    // A user that is being moved is frozen for the move; its orders wait for the other gateway.
    if (user?.moving?.frozen ?? user?.frozen) return 'account_frozen';
    if (this.isHalted) return 'trading_halted';
    return keyId !== undefined && this.#isRevoked(userId, keyId) ? 'key_revoked' : undefined;
  }

  #isRevoked(userId: string, keyId: number): boolean {
    return this.#store.get('apiKeyHashes', [userId, -keyId]) !== undefined;
  }
}
