/**
 * GET /api/v1/signals/{requestId}: the durable state of a signal request and its executions; with `waitMs`, once it
 * is completed or the time is over.
 */
import type { KeyOwner } from '../auth/api-key.js';
import type { KeyRights } from '../auth/key-rights.js';
import type { KeyEndpoint } from '../http/endpoint.js';
import type { Exchange } from '../http/exchange.js';
import { isRequestId } from '../lib/ids.js';
import type { Scope } from '../model/scopes.js';
import type { CompletionWaits } from '../signals/completion-waits.js';
import type { ReadSignal, SignalReader } from '../signals/signal-reader.js';
import { readInteger, readQuery } from './query.js';
import { SteppedReplies } from './stepped-replies.js';

const scope: Scope = 'signals:read';
/** Below the time after which a proxy or a client usually gives up. */
export const waitMsMax = 30_000;

export interface ReadSignalDeps {
  readonly signals: SignalReader;
  readonly waits: CompletionWaits;
  readonly rights: KeyRights;
}

export function createReadSignal({ signals, waits, rights }: ReadSignalDeps): KeyEndpoint {
  const replies = new SteppedReplies(rights, scope);

  function answer(exchange: Exchange, caller: KeyOwner, read: ReadSignal | undefined): void {
    if (read === undefined) exchange.fail('request_not_found');
    else if (!read.isLong) exchange.reply(200, read.json());
    else replies.reply(exchange, caller, read.steps());
  }

  return (exchange, caller) => {
    const { parameter: requestId, query } = exchange.request;
    const { userId } = caller.user;
    const waitMs = readWaitMs(query);
    if (waitMs === undefined) {
      return exchange.fail('invalid_query', {
        message: `waitMs must be a whole number from 0 to ${waitMsMax}, given at most once.`,
      });
    }

    if (!isRequestId(requestId)) return answer(exchange, caller, undefined);
    let read = signals.read(userId, requestId);
    if (waitMs === 0 || (read?.isCompleted ?? true)) return answer(exchange, caller, read);

    const leave = waits.begin({
      caller,
      requestId,
      waitMs,
      isCompleted() {
        read = signals.read(userId, requestId);
        return read?.isCompleted ?? true;
      },
      end: (refusal) =>
        exchange.run(() => {
          if (refusal !== undefined) return exchange.fail(refusal);
          // `isCompleted` has read a completed signal; if the time is over, the signal may have changed since.
          const isOver = read?.isCompleted ?? true;
          answer(exchange, caller, isOver ? read : signals.read(userId, requestId));
        }),
    });
    if (leave === undefined) return exchange.fail('api_rate_limited', { retryAfter: 1 });
    exchange.onOver(leave);
  };
}

function readWaitMs(query: string): number | undefined {
  if (query === '') return 0;
  const { waitMs } = readQuery(query, ['waitMs']);
  if (waitMs === undefined) return 0;
  return waitMs === null ? undefined : readInteger(waitMs, 0, waitMsMax);
}
