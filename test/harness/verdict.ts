/** Counts what was checked and keeps what was violated, for one run. */
import { inspect } from 'node:util';

interface Violation {
  readonly rule: string;
  readonly round: number;
  /** As it was when the rule was broken. */
  readonly evidence: string;
}

export class Verdict {
  round = 0;
  checks = 0;
  readonly violations: Violation[] = [];

  /** `evidence` is called only when the rule does not hold. @returns `holds`. */
  hold(rule: string, holds: boolean, evidence: () => unknown): boolean {
    this.checks++;
    if (!holds)
      this.violations.push({
        rule,
        round: this.round,
        evidence: inspect(evidence(), { depth: 8 }),
      });
    return holds;
  }
}
