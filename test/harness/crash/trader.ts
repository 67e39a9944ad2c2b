/** A user of the run: sends the operations of its bots and reads requests, into the ledger. */
import { bearer, call, json, type Answer } from '../../support/api.js';
import type { RequestView } from './request-history.js';
import type { AcceptedRequest, Ledger } from './ledger.js';
import { codeOf, type Operation } from './operation.js';

/** A longer wait counts as no answer, which is a violation. */
const answerWithinMs = 20_000;
const closedPauseMs = 20;

export class Trader {
  url = '';

  constructor(
    readonly email: string,
    readonly key: string,
    readonly ledger: Ledger,
  ) {}

  /** Sends the operation once more. @returns its answer, or undefined when none came. */
  async attempt(operation: Operation): Promise<Answer | undefined> {
    const { path, body, key } = operation.name;
    const wasAccepted = operation.accepted !== undefined;
    operation.attempts++;
    if (operation.isOpen) this.ledger.open.add(operation);
    const answer = await this.post(path, key, body);
    this.ledger.take(operation, answer, wasAccepted);
    return answer;
  }

  /** `body`: empty for none. @returns undefined when no answer came. */
  post(path: string, idempotencyKey: string, body: string): Promise<Answer | undefined> {
    return this.#call('POST', path, {
      headers: {
        ...bearer(this.key),
        'idempotency-key': idempotencyKey,
        ...(body === '' ? {} : json),
      },
      ...(body === '' ? {} : { body }),
    });
  }

  get(path: string): Promise<Answer | undefined> {
    return this.#call('GET', path, { headers: bearer(this.key) });
  }

  /** @returns undefined when no answer came. */
  async read(request: AcceptedRequest): Promise<RequestView | undefined> {
    const startedAt = performance.now();
    const answer = await this.get(`/api/v1/signals/${request.requestId}`);
    if (answer === undefined) return undefined;
    // A gateway that drains answers nothing else; the request is read again after the next start.
    const { isDraining } = this.ledger.conditions;
    if (isDraining && codeOf(answer) === 'shutting_down') return undefined;
    const isFound = answer.status === 200;
    this.ledger.verdict.hold('a 202 is still there', isFound, () => ({
      request,
      status: answer.status,
      text: answer.text,
    }));
    if (!isFound) return undefined;
    const view = answer.body as RequestView;
    this.ledger.noteView(request, view, startedAt, performance.now());
    return view;
  }

  /** Repeats a request that the closed Public API refused, until it is open. */
  async #call(method: string, path: string, options: object): Promise<Answer | undefined> {
    const { conditions, verdict } = this.ledger;
    for (;;) {
      const { mayBeClosed } = conditions;
      const answer = await this.#callOnce(method, path, options);
      if (answer === undefined || codeOf(answer) !== 'public_api_disabled') return answer;
      verdict.hold('only the operator closes the Public API', mayBeClosed, () => path);
      // With a dead disk nobody can open it before the next start.
      if (conditions.isDiskDead) return undefined;
      await new Promise((resolve) => setTimeout(resolve, closedPauseMs));
    }
  }

  async #callOnce(method: string, path: string, options: object): Promise<Answer | undefined> {
    try {
      const signal = AbortSignal.timeout(answerWithinMs);
      return await call(this.url, method, path, { ...options, signal });
    } catch (error) {
      const isForgotten = error instanceof Error && error.name === 'TimeoutError';
      this.ledger.verdict.hold(
        'every request is answered, or its line is cut',
        !isForgotten,
        () => ({
          method,
          path,
          options,
        }),
      );
      return undefined;
    }
  }
}
