/** The client's calls that cancel all orders: at once, or when the bot has ended. */
import type { Clock } from '../lib/clock.js';
import type { IdSource } from '../lib/ids.js';
import { limits } from '../limits.js';
import { mutationDelaysMs, readDelaysMs } from './backoff.js';
import type { CallOptions, PrepareOptions, SendOptions } from './call-options.js';
import { cancelGiveUpMs } from './cancel.js';
import {
  readCancelAfter,
  renewSwitch,
  type CancelAfterOptions,
  type CancelAfterState,
  type RenewedSwitch,
} from './cancel-after.js';
import {
  readCancelAllAcceptance,
  type CancelAllAcceptance,
  type OrderFilter,
  type PreparedCancelAll,
} from './cancel-all.js';
import { checkedIdempotencyKey, checkedSwitchMs, checkedTarget } from './checked-settings.js';
import type { RunOperation } from './operation.js';
import type { Result } from './result.js';

export interface AllCancels {
  /** As `prepareCancel`, for all open orders that the filter means. */
  prepareCancelAll(filter?: OrderFilter, options?: PrepareOptions): PreparedCancelAll;
  /**
   * Sends it until the gateway has accepted or rejected it; retries like `send`. A cancel that may have taken effect
   * is not sent again a day after it was prepared, since it would cancel newer orders.
   */
  sendCancelAll(
    prepared: PreparedCancelAll,
    options?: SendOptions,
  ): Promise<Result<CancelAllAcceptance>>;
  /** `prepareCancelAll` and `sendCancelAll` in one. Without a filter: all open orders of the account. */
  cancelAll(
    filter?: OrderFilter,
    options?: PrepareOptions & CallOptions,
  ): Promise<Result<CancelAllAcceptance>>;
  /**
   * Arms the dead-man's switch of this key and renews it three times within `timeoutMs` (5000 to 600000) until it
   * is stopped: when this process ends or cannot reach the gateway, the gateway cancels the key's open orders.
   * @throws TypeError when `timeoutMs` is out of range, or not whole.
   */
  cancelAfter(timeoutMs: number, options?: CancelAfterOptions): RenewedSwitch;
}

export function createAllCancels(deps: {
  readonly run: RunOperation;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly giveUpAfterMs: number | undefined;
}): AllCancels {
  const { run, clock, ids } = deps;

  function prepareCancelAll(
    filter: OrderFilter = {},
    { idempotencyKey = ids.ulid() }: PrepareOptions = {},
  ): PreparedCancelAll {
    return {
      idempotencyKey: checkedIdempotencyKey(idempotencyKey),
      body: JSON.stringify(checkedTarget(filter)),
      preparedAt: clock.now(),
    };
  }

  async function sendCancelAll(
    { idempotencyKey, body, preparedAt }: PreparedCancelAll,
    { resumed = false, signal }: SendOptions = {},
  ): Promise<Result<CancelAllAcceptance>> {
    const key = checkedIdempotencyKey(idempotencyKey);
    return run({
      request: () => ({
        method: 'POST',
        path: '/api/v1/orders/cancel-all',
        body,
        idempotencyKey: key,
      }),
      read: (answer) => readCancelAllAcceptance(answer.body, key, answer.replayed),
      mutation: {
        resumed,
        deduplicatedUntil: preparedAt + limits.idempotencyRetentionMs.value,
        actsAnew: true,
      },
      delaysMs: mutationDelaysMs,
      giveUpAfterMs: deps.giveUpAfterMs ?? cancelGiveUpMs,
      abort: signal,
    });
  }

  /** Idempotent by nature: repeating it only moves the deadline on. */
  function setSwitch(timeoutMs: number, withinMs: number): Promise<Result<CancelAfterState>> {
    const body = JSON.stringify({ timeoutMs });
    return run({
      request: () => ({ method: 'PUT', path: '/api/v1/cancel-after', body, limitMs: withinMs }),
      read: (answer) => readCancelAfter(answer.body),
      // Without an Idempotency-Key: a refusal of these bytes for good holds for every attempt.
      mutation: { resumed: false, deduplicatedUntil: Infinity },
      delaysMs: readDelaysMs,
      giveUpAfterMs: withinMs,
      abort: undefined,
    });
  }

  return {
    prepareCancelAll,
    sendCancelAll,
    cancelAll: async (filter = {}, options = {}) =>
      sendCancelAll(prepareCancelAll(filter, options), options),
    cancelAfter: (timeoutMs, options) =>
      renewSwitch(clock, checkedSwitchMs(timeoutMs), setSwitch, options),
  };
}
