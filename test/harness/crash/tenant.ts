/**
 * One tenant and what may be true of it: a single state, or two while a change is under way or was
 * cut off. A change is whole or not there: whatever is between the two is a violation.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Verdict } from '../verdict.js';
import { readStanding } from './tenant-access.js';
import type { Circumstances } from './refusals.js';
import { standingOf, unborn, type Standing, type TenantState } from './tenant-state.js';

export type Ending = 'confirmed' | 'refused' | 'cut off';

export class Tenant {
  #possible: readonly TenantState[] = [unborn];

  constructor(
    readonly email: string,
    readonly verdict: Verdict,
    readonly circumstances: Circumstances,
  ) {}

  get isCertain(): boolean {
    return this.#possible.length === 1;
  }

  /** The only state that is possible; the one before the change while there are two. */
  get state(): TenantState {
    return this.#possible[0] as TenantState;
  }

  /** `next` may be true from now on. */
  begin(next: TenantState): void {
    this.#possible = [this.state, next];
  }

  end(ending: Ending): void {
    const [before, next] = this.#possible as [TenantState, TenantState];
    if (ending !== 'cut off') this.#possible = [ending === 'confirmed' ? next : before];
  }

  /** What a gateway told of its own accord: a key that it made, a login. */
  learn(state: TenantState): void {
    this.#possible = [state];
  }

  /** Holds what this gateway answers against what is possible, unless it is gone or impaired. */
  async inspect(url: string, rule: string): Promise<void> {
    const standings = await Promise.all(
      this.#possible.map((state) => readStanding(url, this.email, state)),
    );
    const possible: TenantState[] = [];
    for (const [index, standing] of standings.entries()) {
      if (standing === undefined || this.#isImpaired(standing)) return;
      const state = this.#possible[index] as TenantState;
      if (isDeepStrictEqual(standing, standingOf(state))) possible.push(state);
    }
    this.verdict.hold(rule, possible.length > 0, () => ({
      email: this.email,
      possible: this.#possible,
      standings,
    }));
    // Who has no password of a new user sees what was before it, so that the change speaks first.
    this.#possible = [possible.at(-1) ?? this.state];
  }

  /** With its disk dead or while it drains it cannot tell. */
  #isImpaired({ login, plan, keys, tokens }: Standing): boolean {
    const { isDiskDead, isDraining } = this.circumstances;
    return (
      (isDiskDead || isDraining) &&
      [login, plan, ...keys, ...tokens].some((status) => status >= 500)
    );
  }
}
