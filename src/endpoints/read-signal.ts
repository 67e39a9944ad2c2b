/** GET /api/v1/signals/{requestId}: what is durable of a signal request and its executions. */
import type { KeyEndpoint } from '../http/endpoint.js';
import { executionIdOf, isRequestId } from '../lib/ids.js';
import { readExecutions } from '../signals/execution-book.js';
import { toSignalView } from '../signals/signal-view.js';
import type { Reader } from '../store/store.js';

export function createReadSignal({ store }: { readonly store: Reader }): KeyEndpoint {
  return (exchange, { user }) => {
    const requestId = exchange.request.parameter;
    const request = isRequestId(requestId)
      ? store.get('requests', [user.userId, requestId])
      : undefined;
    if (request === undefined) return exchange.fail('request_not_found');
    const ids = Array.from({ length: request.executionCount }, (_, index) =>
      executionIdOf(requestId, index),
    );
    const executions = readExecutions(store, user.userId, ids);
    exchange.reply(200, JSON.stringify(toSignalView(request, executions)));
  };
}
