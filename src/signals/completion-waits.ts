/**
 * Clients that wait until a signal request is completed. The announcer calls `becameFinal`, so nothing is
 * polled. A wait ends once: with the completion, when its time is over, when the key loses its rights, or
 * when the gateway drains. Owns the waits; they end with the process.
 */
import type { KeyOwner } from '../auth/api-key.js';
import type { KeyRefusal, KeyRights } from '../auth/key-rights.js';
import type { Deadline, Deadlines } from '../lib/deadlines.js';
import { eachByTurns } from '../lib/turn.js';
import type { Scope } from '../model/scopes.js';

/** The scope that a key needs to wait. */
const scope: Scope = 'signals:read';
/** A wait holds a connection and its request. The rate limit of a key allows 600 waits of 30 s at once. */
export const waitsPerUserMax = 1_000;
/** Waits of all users that are ended in one turn of the event loop: a few milliseconds. */
const waitsPerTurn = 256;

export interface WaitFor {
  readonly caller: KeyOwner;
  readonly requestId: string;
  readonly waitMs: number;
  /** Whether every execution is final, on disk. */
  readonly isCompleted: () => boolean;
  /** Called once. `refusal` is why the caller may no longer be answered; undefined if it may. */
  readonly end: (refusal: KeyRefusal | undefined) => void;
}

interface Wait extends WaitFor {
  deadline: Deadline | undefined;
}

export interface CompletionWaitsDeps {
  readonly deadlines: Deadlines;
  readonly rights: KeyRights;
}

export class CompletionWaits {
  readonly #deps: CompletionWaitsDeps;
  /** By userId. */
  readonly #waits = new Map<string, Set<Wait>>();
  #count = 0;

  constructor(deps: CompletionWaitsDeps) {
    this.#deps = deps;
  }

  get count(): number {
    return this.#count;
  }

  /** @returns a function that ends the wait without calling `end`; undefined if the user has too many. */
  begin(wanted: WaitFor): (() => void) | undefined {
    const { userId } = wanted.caller.user;
    const waits = this.#waits.get(userId) ?? new Set();
    if (waits.size >= waitsPerUserMax) return undefined;
    const wait: Wait = { ...wanted, deadline: undefined };
    wait.deadline = this.#deps.deadlines.after(wanted.waitMs, () => this.#end(wait));
    this.#waits.set(userId, waits.add(wait));
    this.#count++;
    return () => void this.#remove(wait);
  }

  /** An execution of the request has become final, on disk. */
  becameFinal(userId: string, requestId: string): void {
    if (this.#count === 0) return;
    for (const wait of this.#waits.get(userId) ?? []) {
      if (wait.requestId !== requestId) continue;
      // All of them would read the same.
      if (!wait.isCompleted()) return;
      this.#end(wait);
    }
  }

  /** Ends the user's waits whose key, user or plan no longer allows them. */
  recheck(userId: string): void {
    for (const wait of this.#waits.get(userId) ?? []) this.#recheckOne(wait);
  }

  /** As `recheck`, for all users, in slices: a wait that ends meanwhile is refused all the same. */
  recheckAll(): Promise<void> {
    const all = [...this.#waits.values()].flatMap((waits) => [...waits]);
    return eachByTurns(all, waitsPerTurn, (wait) => this.#recheckOne(wait));
  }

  #recheckOne(wait: Wait): void {
    if (this.#deps.rights.refusalNow(wait.caller, scope) !== undefined) this.#end(wait);
  }

  /** Ends every wait, for a graceful shutdown: each client is answered with what is known. */
  drain(): void {
    for (const waits of [...this.#waits.values()]) for (const wait of waits) this.#end(wait);
  }

  /** Asks for the rights again: no event tells that a key has expired. */
  #end(wait: Wait): void {
    if (this.#remove(wait)) wait.end(this.#deps.rights.refusalNow(wait.caller, scope));
  }

  #remove(wait: Wait): boolean {
    const { userId } = wait.caller.user;
    const waits = this.#waits.get(userId);
    if (waits?.delete(wait) !== true) return false;
    this.#count--;
    if (waits.size === 0) this.#waits.delete(userId);
    this.#deps.deadlines.remove(wait.deadline);
    return true;
  }
}
