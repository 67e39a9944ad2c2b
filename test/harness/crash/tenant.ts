/**
 * A tenant and its possible states: one, or two while a change is pending or was killed. A change is
 * complete or absent: any state in between is a violation.
 */
import { isDeepStrictEqual } from 'node:util';
import { until } from '../../support/eventually.js';
import type { Verdict } from '../verdict.js';
import { readAccess } from './tenant-access.js';
import type { Conditions } from './refusals.js';
import {
  expectedAccess,
  nonexistent,
  type AccessStatuses,
  type TenantState,
} from './tenant-state.js';

export type Ending = 'confirmed' | 'refused' | 'cut off';

export class Tenant {
  #possible: readonly TenantState[] = [nonexistent];

  constructor(
    readonly email: string,
    readonly verdict: Verdict,
    readonly conditions: Conditions,
  ) {}

  get isCertain(): boolean {
    return this.#possible.length === 1;
  }

  /** The certain state, or the one before the pending change. */
  get state(): TenantState {
    return this.#possible[0] as TenantState;
  }

  /** `next` is possible from now on. */
  begin(next: TenantState): void {
    this.#possible = [this.state, next];
  }

  end(ending: Ending): void {
    const [before, next] = this.#possible as [TenantState, TenantState];
    if (ending !== 'cut off') this.#possible = [ending === 'confirmed' ? next : before];
  }

  /** Sets the state that an answer has confirmed, such as a new key. */
  learn(state: TenantState): void {
    this.#possible = [state];
  }

  /** Compares the gateway's answers with the possible states, unless it is gone or cannot tell. */
  async inspect(url: string, rule: string): Promise<void> {
    const answers = await until(
      () => Promise.all(this.#possible.map((state) => readAccess(url, this.email, state))),
      // A disk that hangs, as on a busy machine, refuses logins for a while.
      (answers) => this.#isImpaired || !answers.some(isRefused),
    );
    const possible: TenantState[] = [];
    for (const [index, statuses] of answers.entries()) {
      if (statuses === undefined || isRefused(statuses)) return;
      const state = this.#possible[index] as TenantState;
      if (isDeepStrictEqual(statuses, expectedAccess(state))) possible.push(state);
    }
    this.verdict.hold(rule, possible.length > 0, () => ({
      email: this.email,
      possible: this.#possible,
      answers,
    }));
    // The answers may fit both states, as for a user whose password was never set: then the new one counts.
    this.#possible = [possible.at(-1) ?? this.state];
  }

  /** With a dead disk, or draining, the gateway may answer with 5xx. */
  get #isImpaired(): boolean {
    return this.conditions.isDiskDead || this.conditions.isDraining;
  }
}

function isRefused(statuses: AccessStatuses | undefined): boolean {
  if (statuses === undefined) return false;
  const { login, plan, keys, tokens, sessions } = statuses;
  return [login, plan, ...keys, ...tokens, ...sessions].some((status) => status >= 500);
}
