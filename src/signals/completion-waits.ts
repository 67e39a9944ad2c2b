/**
 * Clients that wait until a signal request is completed. The announcer calls `becameFinal`, so nothing is
 * polled. A wait ends once: with the completion, when its time is over, when the key loses its rights, or
 * when the gateway drains. Owns the waits; they end with the process.
 */
import type { KeyOwner } from '../auth/api-key.js';
import type { KeyRefusal, KeyRights } from '../auth/key-rights.js';
import type { Deadline, Deadlines } from '../lib/deadlines.js';
import { Queue } from '../lib/queue.js';
import { eachByTurns } from '../lib/turn.js';
import type { Scope } from '../model/scopes.js';

/** The scope that a key needs to wait. */
const scope: Scope = 'signals:read';
/** A wait holds a connection and its request. The rate limit of a key allows 600 waits of 30 s at once. */
export const waitsPerUserMax = 1_000;
/** Waits that are refused in one turn of the event loop: some 40 µs each, with the answer and its line in the log. */
export const waitsPerTurn = 64;
/** Waits of one user that are answered in one turn: a signal of 64 executions has an answer of 50 KB. */
export const answersPerTurn = 32;

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

interface UserWaits {
  readonly all: Set<Wait>;
  /** So that the end of an execution asks once whether its request is completed, however many wait for it. */
  readonly ofRequest: Map<string, Set<Wait>>;
  /** Those whose request is completed, until it is their turn; some may have ended meanwhile. */
  readonly completed: Queue<Wait>;
  /** How many were answered in this turn. */
  answers: number;
}

export interface CompletionWaitsDeps {
  readonly deadlines: Deadlines;
  readonly rights: KeyRights;
}

export class CompletionWaits {
  readonly #deps: CompletionWaitsDeps;
  /** By userId. */
  readonly #users = new Map<string, UserWaits>();
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
    const user = this.#users.get(userId) ?? newUser();
    if (user.all.size >= waitsPerUserMax) return undefined;
    const wait: Wait = { ...wanted, deadline: undefined };
    wait.deadline = this.#deps.deadlines.after(wanted.waitMs, () => this.#end(wait));
    user.all.add(wait);
    const { requestId } = wanted;
    user.ofRequest.set(requestId, (user.ofRequest.get(requestId) ?? new Set()).add(wait));
    this.#users.set(userId, user);
    this.#count++;
    return () => void this.#remove(wait);
  }

  /** An execution of the request has become final, on disk. */
  becameFinal(userId: string, requestId: string): void {
    const user = this.#users.get(userId);
    const waits = user?.ofRequest.get(requestId);
    const [first] = waits ?? [];
    if (user === undefined || first?.isCompleted() !== true) return;
    for (const wait of waits ?? []) user.completed.push(wait);
    this.#answerSome(user);
  }

  #answerSome(user: UserWaits): void {
    while (user.answers < answersPerTurn) {
      const wait = user.completed.shift();
      if (wait === undefined) return;
      if (user.answers++ === 0) {
        setImmediate(() => {
          user.answers = 0;
          this.#answerSome(user);
        });
      }
      this.#end(wait);
    }
  }

  /**
   * Ends the user's waits whose key, user or plan no longer allows them, in slices, the first of them at once: a wait
   * that ends meanwhile is refused all the same. Resolves when each was looked at.
   */
  recheck(userId: string): Promise<void> {
    return this.#recheckEach([...(this.#users.get(userId)?.all ?? [])]);
  }

  /** As `recheck`, for all users. */
  recheckAll(): Promise<void> {
    return this.#recheckEach([...this.#users.values()].flatMap(({ all }) => [...all]));
  }

  #recheckEach(waits: readonly Wait[]): Promise<void> {
    return eachByTurns(waits, waitsPerTurn, (wait) => {
      const { caller } = wait;
      // Of one that has ended nothing is read: a shutdown may have closed the store.
      if (this.#users.get(caller.user.userId)?.all.has(wait) !== true) return;
      if (this.#deps.rights.refusalNow(caller, scope) !== undefined) this.#end(wait);
    });
  }

  /** Ends every wait, for a graceful shutdown: each client is answered with what is known. */
  drain(): void {
    for (const { all } of [...this.#users.values()]) for (const wait of all) this.#end(wait);
  }

  /** Asks for the rights again: no event tells that a key has expired. */
  #end(wait: Wait): void {
    if (this.#remove(wait)) wait.end(this.#deps.rights.refusalNow(wait.caller, scope));
  }

  #remove(wait: Wait): boolean {
    const { userId } = wait.caller.user;
    const user = this.#users.get(userId);
    if (user?.all.delete(wait) !== true) return false;
    this.#count--;
    if (user.all.size === 0) this.#users.delete(userId);
    const waits = user.ofRequest.get(wait.requestId);
    waits?.delete(wait);
    if (waits?.size === 0) user.ofRequest.delete(wait.requestId);
    this.#deps.deadlines.remove(wait.deadline);
    return true;
  }
}

function newUser(): UserWaits {
  return { all: new Set(), ofRequest: new Map(), completed: new Queue(), answers: 0 };
}
