/**
 * A model of a sliding-window limit, judged from outside by monotonic time. A grant was made at some moment
 * between its request and its answer: only if every choice of moments breaks the limit is it a violation.
 * Forgets grants that have left every window.
 */
import type { Verdict } from '../verdict.js';

interface Answered {
  readonly sentAt: number;
  readonly answeredAt: number;
}

export class RateModel {
  #grants: Answered[] = [];
  readonly #refused: Answered[] = [];
  refusals = 0;

  constructor(
    readonly name: string,
    readonly capacity: number,
    readonly windowMs: number,
    readonly verdict: Verdict,
  ) {}

  granted(sentAt: number, answeredAt: number): void {
    this.#grants.push({ sentAt, answeredAt });
    const inOneWindow = this.#grants.filter((grant) => answeredAt - grant.sentAt < this.windowMs);
    const rule = `${this.name}: no window holds more than the limit`;
    this.verdict.hold(rule, inOneWindow.length <= this.capacity, () => inOneWindow.length);
    this.#grants = this.#grants.filter(
      (grant) => answeredAt - grant.answeredAt < 2 * this.windowMs,
    );
  }

  refused(sentAt: number, answeredAt: number, retryAfterSeconds: number): void {
    this.refusals++;
    this.#refused.push({ sentAt, answeredAt });
    const isSane = retryAfterSeconds >= 1 && retryAfterSeconds <= Math.ceil(this.windowMs / 1000);
    this.verdict.hold(
      `${this.name}: Retry-After is no longer than the window`,
      isSane,
      () => retryAfterSeconds,
    );
  }

  /** Call it with no request pending: a grant may be answered after a refusal that it caused. */
  judgeRefusals(): void {
    for (const refusal of this.#refused.splice(0)) this.#judge(refusal);
  }

  #judge({ sentAt, answeredAt }: Answered): void {
    const possible = this.#grants.filter(
      (grant) => grant.answeredAt >= sentAt - this.windowMs && grant.sentAt <= answeredAt,
    );
    const rule = `${this.name}: nobody within the limit is refused`;
    this.verdict.hold(rule, possible.length >= this.capacity, () => possible.length);
  }
}
