/** The checks of one run: how many were made, and the violations. */
import { inspect } from 'node:util';

interface Violation {
  readonly rule: string;
  readonly round: number;
  /** Formatted at the time of the violation, since the objects change. */
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
