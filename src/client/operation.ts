/**
 * Runs one operation: repeats the same request by the retry rules until it is settled, the time is over or
 * the caller aborts. Tracks over all attempts whether the operation may have taken effect; the reported
 * failure depends on that, not only on the last response.
 */
import type { Clock } from '../lib/clock.js';
import { summaryOf, type Answer } from './answer.js';
import { backoffMs, pause, type Delays } from './backoff.js';
import type { Exchange, HttpRequest, NoResponse } from './exchange.js';
import type { Failure, FailureKind, Result } from './result.js';
import { noAnswer, notSent, ruleFor, type Retry, type RetryRule } from './retry-rules.js';

export interface Operation<T> {
  /** The request of an attempt. `leftMs`: time in which a further attempt may start; 0 at the last one. */
  readonly request: (leftMs: number) => HttpRequest;
  /** @returns undefined when a successful response does not have the expected shape. */
  readonly read: (answer: Answer) => T | undefined;
  /** False to continue polling. Default: every value ends the operation. */
  readonly isSettled?: (value: T) => boolean;
  /** Absent for reads. */
  readonly mutation?: Mutation;
  readonly delaysMs: Delays;
  /** No attempt starts later than this, in milliseconds after the first. */
  readonly giveUpAfterMs: number;
  readonly abort: AbortSignal | undefined;
}

export interface Mutation {
  /** Whether an earlier run may have made an attempt. */
  readonly resumed: boolean;
  /** Unix milliseconds until which the gateway certainly deduplicates the Idempotency-Key. */
  readonly deduplicatedUntil: number;
  /** Whether a repetition after that is a new operation: one in doubt is then not sent again. */
  readonly actsAnew?: boolean;
}

export type RunOperation = <T>(operation: Operation<T>) => Promise<Result<T>>;

export function createRunOperation(deps: {
  readonly exchange: Exchange;
  readonly clock: Clock;
  readonly random: () => number;
}): RunOperation {
  const { exchange, clock, random } = deps;

  return async function run<T>(operation: Operation<T>): Promise<Result<T>> {
    const { mutation, abort, isSettled = () => true } = operation;
    const isAborted = (): boolean => abort?.aborted === true;
    const endsAt = clock.monotonic() + operation.giveUpAfterMs;
    let request = operation.request(operation.giveUpAfterMs);
    let inDoubt = mutation?.resumed ?? false;
    if (isAborted()) return failed('aborted', neverTried);

    for (let attempt = 0; ; attempt++) {
      if (inDoubt && mutation !== undefined && wouldActAnew(mutation)) {
        return failed('unknown', forgotten);
      }
      const startedAt = clock.monotonic();
      if (attempt > 0) request = operation.request(Math.max(0, endsAt - startedAt));
      const reply = await exchange(request, abort);
      const value = reply.answered && isSuccess(reply) ? operation.read(reply) : undefined;
      if (value !== undefined && isSettled(value)) return { ok: true, value };

      const rule = ruleOf(reply);
      if (mutation !== undefined) inDoubt = doubtAfter(rule, inDoubt, mutation);

      const retryAfterMs = reply.answered ? (reply.context.retryAfterMs ?? 0) : 0;
      const leftMs = endsAt - clock.monotonic();
      if (rule.retry !== 'never' && leftMs > 0 && retryAfterMs <= leftMs) {
        const backoff = backoffMs(operation.delaysMs, attempt, random);
        const fullMs = waits[rule.retry](retryAfterMs, backoff, attempt);
        // A gateway that held its answer back has waited in the client's place.
        const waitedMs = value === undefined ? 0 : clock.monotonic() - startedAt;
        const waitMs = Math.max(0, fullMs - waitedMs);
        // Makes the last attempt at the end of the time.
        if (!isAborted()) await pause(clock, Math.min(waitMs, leftMs), abort);
        if (!isAborted()) continue;
      }
      if (value !== undefined) return { ok: true, value };
      return failed(kindOf(reply, rule), reply);
    }

    function kindOf(reply: Answer | NoResponse, rule: RetryRule): FailureKind {
      if (isAborted() && rule.retry !== 'never') return 'aborted';
      return reply.answered && !isSuccess(reply) ? 'refused' : 'unreachable';
    }

    function failed(kind: FailureKind, reply: Answer | NoResponse): { ok: false; error: Failure } {
      return { ok: false, error: failureOf(inDoubt ? 'unknown' : kind, request, reply) };
    }
  };

  function wouldActAnew({ actsAnew = false, deduplicatedUntil }: Mutation): boolean {
    return actsAnew && clock.now() >= deduplicatedUntil;
  }

  function doubtAfter(rule: RetryRule, before: boolean, mutation: Mutation): boolean {
    if (rule.doubt === 'raised') return true;
    // After the retention, the gateway does not find the key, even if the operation took effect.
    if (rule.doubt === 'settled' && clock.now() < mutation.deduplicatedUntil) return false;
    return before;
  }
}

const neverTried: NoResponse = {
  answered: false,
  mayHaveBeenSent: false,
  reason: 'nothing was sent',
};

const forgotten: NoResponse = {
  answered: false,
  mayHaveBeenSent: false,
  reason:
    'nothing was sent: the gateway may have forgotten this Idempotency-Key, and would take it for a new request',
};

/** @returns milliseconds to wait. `retryAfterMs` is 0 without a Retry-After. */
const waits: Record<
  Exclude<Retry, 'never'>,
  (retryAfterMs: number, backoff: number, attempt: number) => number
> = {
  after_retry_after: (retryAfterMs, backoff) => (retryAfterMs > 0 ? retryAfterMs : backoff),
  backoff: (retryAfterMs, backoff) => retryAfterMs + backoff,
  at_once: (_, backoff, attempt) => (attempt === 0 ? 0 : backoff),
};

function isSuccess(answer: Answer): boolean {
  return answer.status >= 200 && answer.status < 300;
}

function ruleOf(reply: Answer | NoResponse): RetryRule {
  if (reply.answered) return ruleFor(reply.status, reply.context.code, reply.context.details);
  return reply.mayHaveBeenSent ? noAnswer : notSent;
}

const messages: Record<FailureKind, (last: string) => string> = {
  unknown: (last) =>
    `The operation may have taken effect; check the terminal before any new order, or repeat the same request with the same Idempotency-Key. Last: ${last}`,
  refused: (last) => `The gateway refused the operation: ${last}`,
  unreachable: (last) => `The gateway gave no usable answer: ${last}`,
  aborted: (last) => `The caller aborted the operation. Last: ${last}`,
};

function failureOf(kind: FailureKind, request: HttpRequest, reply: Answer | NoResponse): Failure {
  const message = messages[kind](reply.answered ? summaryOf(reply) : reply.reason);
  const { idempotencyKey } = request;
  const context = reply.answered ? reply.context : {};
  return { kind, message, ...context, ...(idempotencyKey !== undefined && { idempotencyKey }) };
}
