/** What a gateway had promised at one moment of a recording: the facts before it, put in order. */
import { DeliveryCheck } from '../crash/delivery-check.js';
import type { ExecutionRecord } from '../crash/execution-record.js';
import type { CancelAllAnswer } from '../crash/cancel-alls.js';
import { attemptOf } from '../crash/request-history.js';
import { Verdict } from '../verdict.js';
import type { AnswerFact, ChangeFact, Facts, LoginFact, SubjectKind, ViewFact } from './facts.js';

export interface Subject {
  readonly kind: SubjectKind;
  readonly name: string;
  /** The value in effect, and the one that the next command may have given; undefined: the initial value. */
  readonly values: readonly (string | undefined)[];
}

export class Known {
  readonly answers: readonly AnswerFact[];
  readonly logins: readonly LoginFact[];
  /** requestId → the last read of it. */
  readonly views: ReadonlyMap<string, ViewFact>;
  /** Terminal’s id → executionId → what the two said of the execution. */
  readonly records: ReadonlyMap<string, ReadonlyMap<string, ExecutionRecord>>;
  /** Terminal’s id → the highest numbers that the gateway acknowledged and that the terminal sent. */
  readonly numbers = new Map<string, { acked: number; said: number }>();
  /** executionId → cancelRequestId of its newest accepted cancel. */
  readonly cancels = new Map<string, string>();
  /** Executions that an answer called denied. */
  readonly denied = new Set<string>();
  readonly subjects: readonly Subject[];

  constructor(facts: Facts, now: number) {
    const isSaid = ({ at }: { readonly at: number | null }): boolean => at === null || at <= now;
    this.logins = facts.logins.filter(isSaid);
    this.answers = facts.answers.filter(isSaid);
    this.views = new Map(
      facts.views.filter(isSaid).map((fact) => [fact.view.requestId, fact] as const),
    );
    // The rules of delivery are judged while a recording is made.
    const deps = { verdict: new Verdict(), confirmedReadAt: () => undefined };
    const checks = new Map(facts.terminals.map(({ id }) => [id, new DeliveryCheck(id, deps)]));
    for (const { id } of facts.terminals) this.numbers.set(id, { acked: 0, said: 0 });
    for (const { seen, at } of facts.observations) {
      const numbers = this.numbers.get(seen.terminal);
      if (numbers !== undefined && seen.kind !== 'acked' && 'seq' in seen) numbers.said = seen.seq;
      if (!isSaid({ at })) continue;
      checks.get(seen.terminal)?.read(seen);
      if (numbers !== undefined && seen.kind === 'acked') {
        numbers.acked = Math.max(numbers.acked, seen.seq);
      }
    }
    this.records = new Map([...checks].map(([id, { records }]) => [id, records]));
    for (const { kind, text } of this.answers) {
      if (kind === 'cancel') this.#cancelled(JSON.parse(text) as Cancelled);
      if (kind === 'cancel-all') this.#allCancelled(JSON.parse(text) as CancelAllAnswer);
    }
    this.subjects = subjectsOf(facts.changes, now);
  }

  #cancelled({ executionId, cancelRequestId }: Cancelled): void {
    const known = this.cancels.get(executionId);
    if (known === undefined || attemptOf(known) < attemptOf(cancelRequestId)) {
      this.cancels.set(executionId, cancelRequestId);
    }
  }

  #allCancelled({ orders }: CancelAllAnswer): void {
    for (const { outcome, executionId, cancelRequestId } of orders) {
      if (outcome === 'denied') this.denied.add(executionId);
      if (cancelRequestId !== null) this.#cancelled({ executionId, cancelRequestId });
    }
  }
}

interface Cancelled {
  readonly executionId: string;
  readonly cancelRequestId: string;
}

function subjectsOf(changes: readonly ChangeFact[], now: number): Subject[] {
  const bySubject = new Map<string, ChangeFact[]>();
  for (const change of changes) {
    const id = `${change.subject} ${change.name}`;
    bySubject.set(id, [...(bySubject.get(id) ?? []), change]);
  }
  return [...bySubject.values()].map((all) => {
    const done = all.filter(({ at }) => at <= now).length;
    const { subject: kind, name } = all[0] as ChangeFact;
    const values = [all[done - 1]?.value, ...all.slice(done, done + 1).map(({ value }) => value)];
    return { kind, name, values };
  });
}
