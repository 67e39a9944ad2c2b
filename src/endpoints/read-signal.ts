/**
 * GET /api/v1/signals/{requestId}: the durable state of a signal request and its executions. Bots poll it,
 * mostly without a change: so the response is cached with the records that it was created from.
 */
import type { KeyEndpoint } from '../http/endpoint.js';
import { executionIdOf, isRequestId } from '../lib/ids.js';
import { readExecution } from '../signals/execution-book.js';
import { toSignalView } from '../signals/signal-view.js';
import type { Execution } from '../model/execution.js';
import type { SignalRequest } from '../model/records.js';
import type { Reader } from '../store/store.js';

interface Answer {
  readonly executions: readonly Execution[];
  readonly body: string;
}

export function createReadSignal({ store }: { readonly store: Reader }): KeyEndpoint {
  const answers = new WeakMap<SignalRequest, Answer>();

  function answerOf(request: SignalRequest, executions: readonly Execution[]): string {
    const known = answers.get(request);
    if (known !== undefined && isSame(known.executions, executions)) return known.body;
    const body = JSON.stringify(toSignalView(request, executions));
    answers.set(request, { executions, body });
    return body;
  }

  return (exchange, { user }) => {
    const requestId = exchange.request.parameter;
    const request = isRequestId(requestId)
      ? store.get('requests', [user.userId, requestId])
      : undefined;
    if (request === undefined) return exchange.fail('request_not_found');
    const executions = Array.from({ length: request.executionCount }, (_, index) =>
      readExecution(store, user.userId, executionIdOf(requestId, index)),
    ).filter((execution) => execution !== undefined);
    exchange.reply(200, answerOf(request, executions));
  };
}

/** The store returns the same object for an unchanged record. */
function isSame(a: readonly Execution[], b: readonly Execution[]): boolean {
  return a.length === b.length && a.every((execution, index) => execution === b[index]);
}
