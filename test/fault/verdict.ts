/** Counts what was checked and keeps what was violated, for one run. */
export interface Violation {
  readonly rule: string;
  readonly round: number;
  readonly evidence: unknown;
}

export class Verdict {
  round = 0;
  checks = 0;
  readonly violations: Violation[] = [];

  /** `evidence` is called only when the rule does not hold. @returns `holds`. */
  hold(rule: string, holds: boolean, evidence: () => unknown): boolean {
    this.checks++;
    if (!holds) this.violations.push({ rule, round: this.round, evidence: evidence() });
    return holds;
  }
}
