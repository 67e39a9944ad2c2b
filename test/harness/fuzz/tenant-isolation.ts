/**
 * Tenant isolation: each user's values contain a mark, and every text that is sent to another user is
 * searched for it.
 */
import type { Verdict } from '../verdict.js';

export class TenantIsolation {
  readonly #marks = new Map<string, string>();
  readonly #verdict: Verdict;
  #searched = 0;

  constructor(verdict: Verdict) {
    this.#verdict = verdict;
  }

  /** Number of texts searched. */
  get searched(): number {
    return this.#searched;
  }

  /** Prefix of this user's names and values, which no other user may receive. */
  markOf(email: string): string {
    let mark = this.#marks.get(email);
    if (mark === undefined) {
      mark = `mark${this.#marks.size}of${email.replace(/\W.*/, '')}`;
      this.#marks.set(email, mark);
    }
    return mark;
  }

  /** `text` was sent to this user. */
  search(email: string, text: string): void {
    this.#searched++;
    for (const [owner, mark] of this.#marks) {
      if (owner === email || !text.includes(mark)) continue;
      this.#verdict.hold('nobody is sent what is of another user', false, () => ({ email, text }));
    }
  }
}
