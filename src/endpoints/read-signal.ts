/**
 * GET /api/v1/signals/{requestId}: the durable state of a signal request and its executions; with `waitMs`, once it
 * is completed or the time is over.
 */
import type { KeyEndpoint } from '../http/endpoint.js';
import type { Exchange } from '../http/exchange.js';
import { isRequestId } from '../lib/ids.js';
import { Turns } from '../lib/turns.js';
import type { CompletionWaits } from '../signals/completion-waits.js';
import type { ReadSignal, SignalReader } from '../signals/signal-reader.js';
import { readInteger, readQuery } from './query.js';

/** Below the time after which a proxy or a client usually gives up. */
export const waitMsMax = 30_000;

export interface ReadSignalDeps {
  readonly signals: SignalReader;
  readonly waits: CompletionWaits;
}

export function createReadSignal({ signals, waits }: ReadSignalDeps): KeyEndpoint {
  const turns = new Turns();

  function answer(exchange: Exchange, userId: string): void {
    const { parameter: requestId } = exchange.request;
    const read = isRequestId(requestId) ? signals.read(userId, requestId) : undefined;
    if (read === undefined) exchange.fail('request_not_found');
    else if (!read.isLong) exchange.reply(200, read.text());
    else turns.run(userId, () => replyLater(exchange, read));
  }

  return (exchange, caller) => {
    const { parameter: requestId, query } = exchange.request;
    const { userId } = caller.user;
    const waitMs = readWaitMs(query);
    if (waitMs === undefined) {
      return exchange.fail('invalid_query', {
        message: `waitMs is a whole number from 0 to ${waitMsMax}, given once.`,
      });
    }

    if (waitMs === 0 || !isRequestId(requestId)) return answer(exchange, userId);
    const isCompleted = (): boolean => signals.read(userId, requestId)?.isCompleted ?? true;
    if (isCompleted()) return answer(exchange, userId);

    const leave = waits.begin({
      caller,
      requestId,
      waitMs,
      isCompleted,
      end: (refusal) =>
        exchange.run(() => {
          if (refusal === undefined) answer(exchange, userId);
          else exchange.fail(refusal);
        }),
    });
    if (leave === undefined) return exchange.fail('api_rate_limited', { retryAfter: 1 });
    exchange.onOver(leave);
  };
}

/** A turn of the event loop makes one long text of a user's. */
function replyLater(exchange: Exchange, read: ReadSignal): true {
  exchange.run(() => {
    if (!exchange.isOver) exchange.reply(200, read.text());
  });
  return true;
}

function readWaitMs(query: string): number | undefined {
  if (query === '') return 0;
  const { waitMs } = readQuery(query, ['waitMs']);
  if (waitMs === undefined) return 0;
  return waitMs === null ? undefined : readInteger(waitMs, 0, waitMsMax);
}
