/**
 * Runs one operation to its end: the same request again and again, as the retry rules say, until it
 * is settled, the time is over or the caller aborts. It keeps one bit for the operation's life,
 * whether the operation may have taken effect; the failure that it reports rests on that bit and
 * not on the last answer alone.
 */
import type { Clock } from '../lib/clock.js';
import type { Answer } from './answer.js';
import { backoffMs, pause, type Delays } from './backoff.js';
import type { Exchange, HttpRequest, Silence } from './exchange.js';
import type { Failure, FailureKind, Result } from './result.js';
import { noAnswer, notSent, ruleFor, type Retry, type RetryRule } from './retry-rules.js';

export interface Operation<T> {
  readonly request: HttpRequest;
  /** @returns undefined when a successful answer is not what was asked for. */
  readonly read: (answer: Answer) => T | undefined;
  /** False for a value that is only the latest so far. Default: every value ends the operation. */
  readonly isSettled?: (value: T) => boolean;
  /** Present for what changes something. */
  readonly mutation?: Mutation;
  readonly delaysMs: Delays;
  /** No attempt begins later than this many milliseconds after the first. */
  readonly giveUpAfterMs: number;
  readonly abort: AbortSignal | undefined;
}

export interface Mutation {
  /** An attempt may have been made before this run. */
  readonly resumed: boolean;
  /** Unix milliseconds until when the gateway surely remembers the Idempotency-Key. */
  readonly recognisedUntil: number;
}

export type RunOperation = <T>(operation: Operation<T>) => Promise<Result<T>>;

export function createRunOperation(deps: {
  readonly exchange: Exchange;
  readonly clock: Clock;
  readonly random: () => number;
}): RunOperation {
  const { exchange, clock, random } = deps;

  return async function run<T>(operation: Operation<T>): Promise<Result<T>> {
    const { request, mutation, abort, isSettled = () => true } = operation;
    const isAborted = (): boolean => abort?.aborted === true;
    const endsAt = clock.monotonic() + operation.giveUpAfterMs;
    let inDoubt = mutation?.resumed ?? false;
    if (isAborted()) return failed('aborted', neverTried);

    for (let attempt = 0; ; attempt++) {
      const reply = await exchange(request, abort);
      const value = reply.answered && isSuccess(reply) ? operation.read(reply) : undefined;
      if (value !== undefined && isSettled(value)) return { ok: true, value };

      const rule = ruleOf(reply);
      if (mutation !== undefined) inDoubt = doubtAfter(rule, inDoubt, mutation);

      const retryAfterMs = reply.answered ? (reply.told.retryAfterMs ?? 0) : 0;
      const leftMs = endsAt - clock.monotonic();
      if (rule.retry !== 'never' && leftMs > 0 && retryAfterMs <= leftMs) {
        const backoff = backoffMs(operation.delaysMs, attempt, random);
        const waitMs = waits[rule.retry](retryAfterMs, backoff, attempt);
        // The last attempt is made when the time is over, not before.
        if (!isAborted()) await pause(clock, Math.min(waitMs, leftMs), abort);
        if (!isAborted()) continue;
      }
      if (value !== undefined) return { ok: true, value };
      return failed(kindOf(reply, rule), reply);
    }

    function kindOf(reply: Answer | Silence, rule: RetryRule): FailureKind {
      if (isAborted() && rule.retry !== 'never') return 'aborted';
      return reply.answered && !isSuccess(reply) ? 'refused' : 'unreachable';
    }

    function failed(kind: FailureKind, reply: Answer | Silence): { ok: false; error: Failure } {
      return { ok: false, error: failureOf(inDoubt ? 'unknown' : kind, request, reply) };
    }
  };

  function doubtAfter(rule: RetryRule, before: boolean, mutation: Mutation): boolean {
    if (rule.doubt === 'raised') return true;
    // A key that the gateway may have forgotten is not found, whatever became of the operation.
    if (rule.doubt === 'settled' && clock.now() < mutation.recognisedUntil) return false;
    return before;
  }
}

const neverTried: Silence = { answered: false, mayHaveLeft: false, reason: 'nothing was sent' };

/** Milliseconds to wait; `retryAfterMs` is 0 where the gateway has not said when. */
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

function ruleOf(reply: Answer | Silence): RetryRule {
  if (reply.answered) return ruleFor(reply.status, reply.told.code);
  return reply.mayHaveLeft ? noAnswer : notSent;
}

const messages: Record<FailureKind, (last: string) => string> = {
  unknown: (last) =>
    `The operation may have taken effect; check the terminal before any new order, or repeat the same request with the same Idempotency-Key. Last: ${last}`,
  refused: (last) => `The gateway refused the operation: ${last}`,
  unreachable: (last) => `The gateway gave no usable answer: ${last}`,
  aborted: (last) => `The caller aborted the operation. Last: ${last}`,
};

function failureOf(kind: FailureKind, request: HttpRequest, reply: Answer | Silence): Failure {
  const message = messages[kind](reply.answered ? wordsOf(reply) : reply.reason);
  const { idempotencyKey } = request;
  const told = reply.answered ? reply.told : {};
  return { kind, message, ...told, ...(idempotencyKey !== undefined && { idempotencyKey }) };
}

function wordsOf({ status, told, text }: Answer): string {
  return [`HTTP ${status}`, told.code, text].filter((part) => part !== undefined).join(', ');
}
