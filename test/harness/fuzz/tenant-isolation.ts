/**
 * Tenant isolation: a user's values carry the user's mark, and every text that somebody else is sent
 * is searched for it.
 */
import type { Verdict } from '../verdict.js';

export class Isolation {
  readonly #marks = new Map<string, string>();
  readonly #verdict: Verdict;
  #searched = 0;

  constructor(verdict: Verdict) {
    this.#verdict = verdict;
  }

  /** Texts that went through the search. */
  get searched(): number {
    return this.#searched;
  }

  /** What this user's names and values begin with; no other user may ever read it. */
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
