/** All readers of event streams, as the test leads them, and what each user's have been told. */
import type { Chance } from '../chance.js';
import type { Verdict } from '../verdict.js';
import { Follower } from './resuming-reader.js';
import type { TerminalPlace } from './observation.js';
import type { Circumstances } from './refusals.js';
import type { StatusChange } from './status-snapshot.js';
import { StreamLog } from './stream-log.js';
import type { Trader } from './trader.js';

const withinMs = 20_000;

export interface AudienceDeps {
  readonly verdict: Verdict;
  readonly chance: Chance;
  readonly circumstances: Circumstances;
  readonly traders: ReadonlyMap<string, Trader>;
  /** email → its terminals: each has one reader. */
  readonly places: ReadonlyMap<string, readonly TerminalPlace[]>;
}

export class Audience {
  readonly #logs = new Map<string, StreamLog>();
  readonly #followers: { readonly user: string; readonly follower: Follower }[] = [];
  readonly #verdict: Verdict;

  constructor({ verdict, chance, circumstances, traders, places }: AudienceDeps) {
    this.#verdict = verdict;
    for (const [user, ofUser] of places) {
      const log = new StreamLog(verdict, ofUser.length);
      const key = traders.get(user)?.key ?? '';
      this.#logs.set(user, log);
      for (const place of ofUser) {
        const deps = { place, key, log, circumstances, chance: chance.child(`reader ${place.id}`) };
        this.#followers.push({ user, follower: new Follower(deps) });
      }
    }
  }

  get events(): number {
    return [...this.#logs.values()].reduce((sum, { events }) => sum + events, 0);
  }

  get readings(): number {
    return [...this.#logs.values()].reduce((sum, { readings }) => sum + readings, 0);
  }

  /** Follows this life of the gateway from now on. */
  async go(url: string, life: number): Promise<void> {
    for (const log of this.#logs.values()) log.beginLife(life);
    for (const { follower } of this.#followers) follower.go(url, life);
    await this.#wait('every reader comes back', ({ follower }) => follower.isReading);
  }

  storm(): void {
    for (const { follower } of this.#followers) follower.isRestless = true;
  }

  /** `lastWords`: terminal's id → number of the last event that it said and that is acknowledged. */
  async calm(lastWords: ReadonlyMap<string, number>): Promise<void> {
    for (const { follower } of this.#followers) follower.isRestless = false;
    await this.#wait(
      'a terminal’s last word comes to its readers',
      ({ user, follower: { place } }) =>
        this.#logOf(user).lastBalanceOf(place) === lastWords.get(place.id),
    );
    for (const log of this.#logs.values()) log.inspectWhole();
  }

  /** Statuses of the executions, as the streams have told them so far; undefined where they have not. */
  toldOf(user: string, executionId: string): string | undefined {
    return this.#logs.get(user)?.told.get(executionId);
  }

  /** Waits until each of these changes of this life has been told. */
  async inspectTold(changes: readonly StatusChange[]): Promise<void> {
    const end = performance.now() + withinMs;
    for (const { user, executionId, status } of changes) {
      const isTold = (): boolean => this.#logOf(user).wasTold(executionId, status);
      while (!isTold() && performance.now() < end) {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      this.#verdict.hold('every change is told', isTold(), () => ({ user, executionId, status }));
    }
  }

  #logOf(user: string): StreamLog {
    return this.#logs.get(user) as StreamLog;
  }

  async #wait(
    rule: string,
    isSo: (each: { readonly user: string; readonly follower: Follower }) => boolean,
  ): Promise<void> {
    const end = performance.now() + withinMs;
    const missing = () => this.#followers.filter((each) => !isSo(each));
    while (missing().length > 0 && performance.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    this.#verdict.hold(rule, missing().length === 0, () =>
      missing().map(({ user, follower }) => [user, follower.place.id, follower.isReading]),
    );
  }
}
