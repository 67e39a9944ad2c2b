/**
 * Logs every operation with its answers, and every accepted request and cancel, to compare later answers with
 * them. Kept over all restarts of the gateway.
 */
import { codeOf, type Answer } from '../../support/api.js';
import { isOlderBinary } from '../../support/older-binary.js';
import type { Verdict } from '../verdict.js';
import type { DailyQuota } from './daily-quota.js';
import { CancelAlls, type CancelAllAnswer } from './cancel-alls.js';
import { attemptOf, History, type RequestView } from './request-history.js';
import type { Operation } from './operation.js';
import { refusals, type Conditions } from './refusals.js';
import { KeySwitches } from './key-switches.js';
import { Stops } from './stops.js';

/** Most orders that the answer to a cancel-all lists, by the contract. */
const listedMax = 1_000;

export interface AcceptedRequest {
  readonly requestId: string;
  readonly user: string;
  readonly operation: Operation;
  readonly acceptedAt: string;
  readonly history: History;
}

export class Ledger {
  readonly operations: Operation[] = [];
  /** Operations that were sent and whose outcome is unknown to the bot. */
  readonly open = new Set<Operation>();
  readonly requests = new Map<string, AcceptedRequest>();
  /** Requests that may still change. */
  readonly moving = new Set<AcceptedRequest>();
  /** executionId → its accepted cancelRequestIds. */
  readonly cancels = new Map<string, Set<string>>();
  readonly cancelAlls = new CancelAlls();
  readonly switches = new KeySwitches();
  /** executionId → wall time in Unix ms at which its delivery was first read as confirmed. */
  readonly confirmedReads = new Map<string, number>();
  readonly conditions: Conditions = {
    isDiskDead: false,
    isDraining: false,
    mayBeClosed: false,
    stops: new Stops(),
  };
  readonly #bySignalId = new Map<string, Operation[]>();

  constructor(
    readonly verdict: Verdict,
    readonly quotas: ReadonlyMap<string, DailyQuota>,
  ) {}

  add(operation: Operation): Operation {
    this.operations.push(operation);
    const { kind } = operation.name;
    if (kind === 'signal') this.siblingsOf(operation).push(operation);
    return operation;
  }

  /** All operations with the same signalId of the same user, this one included. */
  siblingsOf({ name }: Operation): Operation[] {
    const id = `${name.user} ${name.subject}`;
    const siblings = this.#bySignalId.get(id) ?? [];
    this.#bySignalId.set(id, siblings);
    return siblings;
  }

  /** `answer`: undefined when none came. `wasAccepted`: a 202 was known when the attempt began. */
  take(operation: Operation, answer: Answer | undefined, wasAccepted: boolean): void {
    // The older binary's 505 for a request line in two segments comes before any handler has run.
    if (answer === undefined || (isOlderBinary && answer.status === 505)) return;
    if (answer.status === 202) this.#accepted(operation, answer);
    else this.#refused(operation, answer, wasAccepted);
    if (!operation.isOpen) this.open.delete(operation);
  }

  noteView(request: AcceptedRequest, view: RequestView, startedAt: number, endedAt: number): void {
    const { operation, acceptedAt, requestId } = request;
    const isIts =
      view.requestId === requestId &&
      view.signalId === operation.name.subject &&
      view.acceptedAt === acceptedAt &&
      Date.parse(view.expiresAt) === operation.name.expiresAt;
    this.verdict.hold('a 202 is still there', isIts, () => ({ request, view }));
    request.history.note(view, startedAt, endedAt, this.verdict);
    for (const { executionId, delivery } of view.executions) {
      if (delivery === 'confirmed' && !this.confirmedReads.has(executionId)) {
        this.confirmedReads.set(executionId, Date.now());
      }
    }
  }

  #accepted(operation: Operation, answer: Answer): void {
    const isReplay = answer.headers.get('idempotent-replayed') === 'true';
    const evidence = () => ({ operation, status: answer.status, text: answer.text, isReplay });
    const { verdict } = this;
    if (!isReplay) operation.firstAnswers++;
    verdict.hold('a key is accepted once', operation.firstAnswers <= 1, evidence);
    verdict.hold('only a retry is replayed', !isReplay || operation.attempts > 1, evidence);
    verdict.hold('what was refused is not accepted', operation.refused === undefined, evidence);
    if (operation.accepted !== undefined) {
      const isSame = operation.accepted === answer.text;
      verdict.hold('a replay is the same byte for byte', isSame, evidence);
      return;
    }
    operation.accepted = answer.text;
    const { kind } = operation.name;
    if (kind === 'signal') this.#acceptedSignal(operation, answer);
    else if (kind === 'cancel') this.#acceptedCancel(operation.fields, operation.name.subject);
    else this.#acceptedCancelAll(operation);
  }

  #acceptedSignal(operation: Operation, answer: Answer): void {
    const { requestId, signalId, status, acceptedAt } = operation.fields;
    const { user, subject } = operation.name;
    const evidence = () => ({ operation, text: answer.text });
    const isWhole =
      status === 'accepted' &&
      signalId === subject &&
      answer.headers.get('location') === `/api/v1/signals/${requestId}`;
    this.verdict.hold('a 202 says what was accepted', isWhole, evidence);
    this.verdict.hold('a requestId is given once', !this.requests.has(requestId), evidence);
    const isStopped = this.conditions.stops.isAcceptedUnder(operation, Date.parse(acceptedAt));
    this.verdict.hold('nothing is accepted under a stop', !isStopped, evidence);
    const winners = this.siblingsOf(operation).filter(({ accepted }) => accepted !== undefined);
    this.verdict.hold('a signalId is accepted once', winners.length === 1, () => winners);
    const request = { requestId, user, operation, acceptedAt, history: new History() };
    this.requests.set(requestId, request);
    this.moving.add(request);
    const quota = this.quotas.get(user);
    quota?.note(Date.parse(acceptedAt));
    const isWithin = quota === undefined || quota.acceptedToday <= quota.limit;
    this.verdict.hold('no more are accepted than the day allows', isWithin, () => ({
      user,
      quota,
    }));
  }

  #acceptedCancel(fields: Readonly<Record<string, string>>, orderRef: string): void {
    const { cancelRequestId = '', executionId = '', requestId = '' } = fields;
    const accepted = this.cancels.get(executionId) ?? new Set<string>();
    this.cancels.set(executionId, accepted);
    const isNew = fields['orderRef'] === orderRef && !accepted.has(cancelRequestId);
    this.verdict.hold('a cancel is accepted once', isNew, () => fields);
    accepted.add(cancelRequestId);
    const request = this.requests.get(requestId);
    if (request !== undefined) this.moving.add(request);
  }

  #acceptedCancelAll({ name, fields, firstSentAt }: Operation): void {
    const filter = name.body === '' ? {} : (JSON.parse(name.body) as Record<string, string>);
    const each = this.cancelAlls.begin(name.user, 'cancelled_by_api', filter, firstSentAt);
    this.noteCancelled(each, fields as CancelAllAnswer);
  }

  /** Takes the answer to a cancel-all. */
  noteCancelled(each: ReturnType<CancelAlls['begin']>, answer: CancelAllAnswer): void {
    this.cancelAlls.confirm(each, answer);
    const { matched, truncated, orders } = answer;
    const isWhole =
      orders.length === Math.min(matched, listedMax) &&
      truncated === matched > listedMax &&
      orders.every(({ outcome }) => outcome !== 'not_sent');
    this.verdict.hold('a cancel of all orders lists each', isWhole, () => answer);
    for (const order of orders.filter(({ outcome }) => outcome === 'requested')) {
      this.#acceptedCancel(order as never, (order as { orderRef?: string }).orderRef ?? '');
    }
  }

  /** The newest accepted cancel of an execution. */
  lastCancelOf(executionId: string): string | undefined {
    const accepted = [...(this.cancels.get(executionId) ?? [])];
    return accepted.sort((a, b) => attemptOf(a) - attemptOf(b)).at(-1);
  }

  #refused(operation: Operation, answer: Answer, wasAccepted: boolean): void {
    const code = codeOf(answer);
    const refusal = refusals[code];
    const mayCome = refusal?.mayCome(operation, this.conditions) === true;
    this.verdict.hold('only a refusal that has a reason comes', mayCome, () => ({
      operation,
      status: answer.status,
      text: answer.text,
    }));
    const isLate = wasAccepted && code !== 'shutting_down';
    this.verdict.hold('what was accepted is not refused', !isLate, () => ({
      operation,
      text: answer.text,
    }));
    if (refusal?.settles(operation) === true && operation.accepted === undefined) {
      operation.refused = code;
    }
    if (code === 'duplicate_signal_id') this.#refusedAsDuplicate(operation);
    if (code === 'daily_signal_limit_exceeded') this.#refusedByQuota(operation);
  }

  #refusedAsDuplicate(operation: Operation): void {
    const hasRival = this.siblingsOf(operation).some(
      (other) => other !== operation && (other.accepted !== undefined || other.attempts > 0),
    );
    this.verdict.hold('only a signalId that is used is refused as used', hasRival, () => operation);
  }

  /** The daily count may include operations that are still open. */
  #refusedByQuota(operation: Operation): void {
    const { user } = operation.name;
    const quota = this.quotas.get(user);
    const maybe = [...this.open].filter(
      ({ name, isOpen }) => name.user === user && name.kind === 'signal' && isOpen,
    );
    const isUsedUp =
      this.conditions.isDiskDead ||
      (quota !== undefined && quota.acceptedToday + maybe.length >= quota.limit);
    this.verdict.hold('the day’s quota is used up before it refuses', isUsedUp, () => ({
      operation,
      quota,
      accepted: quota?.acceptedToday,
      maybe: maybe.length,
    }));
  }
}
