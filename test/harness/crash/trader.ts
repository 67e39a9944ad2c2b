/** A user of the run: sends the operations of its bots and reads requests, into the ledger. */
import { bearer, call, codeOf, json, type Answer } from '../../support/api.js';
import type { RequestView } from './request-history.js';
import type { AcceptedRequest, Ledger } from './ledger.js';
import type { SwitchView } from './key-switches.js';
import type { Operation } from './operation.js';

/** A longer wait counts as no answer, which is a violation. */
export const answerWithinMs = 20_000;
const closedPauseMs = 20;
/** Refusals of a call that sets a switch; a slow commit on a busy machine counts as one that hangs. */
const switchRefusals = [
  'invalid_api_key',
  'shutting_down',
  'storage_unavailable',
  'signal_processing_failed',
];

export class Trader {
  url = '';
  /** The key of first attempts of signals, which may be revoked at any time; empty for none. */
  submitKey = '';
  submitKeyId = 0;

  constructor(
    readonly email: string,
    /** Never revoked. */
    readonly key: string,
    readonly ledger: Ledger,
  ) {}

  /** Sends the operation once more. @returns its answer, or undefined when none came. */
  async attempt(operation: Operation): Promise<Answer | undefined> {
    const { path, body, key, kind } = operation.name;
    const wasAccepted = operation.accepted !== undefined;
    const isFirst = operation.attempts++ === 0 && kind === 'signal';
    const apiKey = isFirst && this.submitKey !== '' ? this.submitKey : this.key;
    operation.apiKeys.add(apiKey);
    operation.sentAt = Date.now();
    operation.firstSentAt = Math.min(operation.firstSentAt, operation.sentAt);
    operation.underWay++;
    if (operation.isOpen) this.ledger.open.add(operation);
    const answer = await this.post(path, key, body, apiKey);
    operation.underWay--;
    this.ledger.take(operation, answer, wasAccepted);
    return answer;
  }

  /** `body`: empty for none. @returns undefined when no answer came. */
  post(
    path: string,
    idempotencyKey: string,
    body: string,
    apiKey = this.key,
  ): Promise<Answer | undefined> {
    return this.#call('POST', path, {
      headers: {
        ...bearer(apiKey),
        'idempotency-key': idempotencyKey,
        ...(body === '' ? {} : json),
      },
      ...(body === '' ? {} : { body }),
    });
  }

  get(path: string, apiKey = this.key): Promise<Answer | undefined> {
    return this.#call('GET', path, { headers: bearer(apiKey) });
  }

  /** Sets the key's switch, unless another call for it is under way. @returns whether it was answered. */
  async setSwitch(apiKey: string, timeoutMs: number): Promise<boolean> {
    const { switches, verdict } = this.ledger;
    const keySwitch = switches.of(apiKey);
    if (keySwitch.isBusy) return true;
    keySwitch.isBusy = true;
    const setting = keySwitch.begin(timeoutMs);
    const answer = await this.#call('PUT', '/api/v1/cancel-after', {
      headers: { ...bearer(apiKey), ...json },
      body: JSON.stringify({ timeoutMs }),
    });
    keySwitch.isBusy = false;
    if (answer === undefined) return false;
    if (answer.status === 200) keySwitch.answered(setting, answer.body as SwitchView);
    else if (answer.status === 401) keySwitch.withdraw(setting);
    const mayCome = answer.status === 200 || switchRefusals.includes(codeOf(answer));
    verdict.hold('only a refusal that has a reason comes', mayCome, () => answer.text);
    return true;
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
      // The API may be closed before the request is sent, or while it is under way.
      const wasClosed = conditions.mayBeClosed;
      const answer = await this.#callOnce(method, path, options);
      if (answer === undefined || codeOf(answer) !== 'public_api_disabled') return answer;
      const mayBeClosed = wasClosed || conditions.mayBeClosed;
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
