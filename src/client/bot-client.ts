/**
 * A typed client of the Public API for bots. Sends signals, reads their status and retries safely: every
 * attempt of an operation has the same Idempotency-Key and the same bytes, so an order is never duplicated.
 * Failures are values, see `result.ts`; a throw means invalid arguments. Stateless except for its settings;
 * may be shared by any number of callers.
 */
import type { Clock } from '../lib/clock.js';
import { createIdSource, random as systemRandom } from '../lib/ids.js';
import { limits } from '../limits.js';
import { createAllCancels, type AllCancels } from './all-cancels.js';
import { mutationDelaysMs } from './backoff.js';
import { botClock } from './bot-clock.js';
import type { CallOptions, PrepareOptions, SendOptions } from './call-options.js';
import {
  cancelGiveUpMs,
  readCancelAcceptance,
  type CancelAcceptance,
  type PreparedCancel,
} from './cancel.js';
import {
  checkCursor,
  checkedApiKey,
  checkedBaseUrl,
  checkedIdempotencyKey,
  checkedTarget,
} from './checked-settings.js';
import { createOpenEvents } from './event-connection.js';
import { followEvents, type FollowOptions } from './event-stream.js';
import { createExchange } from './exchange.js';
import { createRunOperation } from './operation.js';
import { createReads, type Reads } from './reads.js';
import type { Result } from './result.js';
import {
  readAcceptance,
  type Acceptance,
  type PreparedSignal,
  type SignalDraft,
} from './signal.js';
import type { SourceName } from './sources.js';
import type { StreamItem } from './terminal-event.js';

export type { CallOptions, PrepareOptions, SendOptions } from './call-options.js';
export type { CancelAcceptance, PreparedCancel } from './cancel.js';
export type { CancelAfterOptions, CancelAfterState, RenewedSwitch } from './cancel-after.js';
export type {
  CancelAllAcceptance,
  CancelledOrder,
  OrderFilter,
  PreparedCancelAll,
} from './cancel-all.js';
export { StreamRefused, type FollowOptions } from './event-stream.js';
export type { Reads, WaitOptions } from './reads.js';
export type { Failure, FailureKind, Result } from './result.js';
export type { Acceptance, PreparedSignal, SignalDraft } from './signal.js';
export type { SourceName, TerminalSource } from './sources.js';
export type { ReplayGap, StreamItem, TerminalEvent, TerminalEventData } from './terminal-event.js';
export type {
  CancelStatus,
  CancelView,
  ExecutionStatus,
  ExecutionView,
  FillView,
  NativeView,
  SignalStatus,
} from './signal-status.js';

export interface BotClientOptions {
  /** URL of the gateway, such as `http://127.0.0.1:8080`; a path prefix is kept. */
  readonly baseUrl: string;
  /** A Public API key, `svc_api_…`. Used only in the Authorization header. */
  readonly apiKey: string;
  /** Timeout of one attempt in milliseconds, including the whole response. Default: 10000. */
  readonly timeoutMs?: number;
  /**
   * Milliseconds after which no further attempt starts; one in flight still gets its `timeoutMs`. Default:
   * for a signal, its TTL and 30 s more, so that the last attempts can find out whether an earlier one was
   * accepted; for a read, 30 s.
   */
  readonly giveUpAfterMs?: number;
  /** Default: the system's clock. */
  readonly clock?: Clock;
  /** A number in [0, 1) for the jitter of waits. Default: the system's. */
  readonly random?: () => number;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
}

export interface BotClient extends Reads, AllCancels {
  /**
   * Creates the signal's Idempotency-Key and bytes, without sending. Store the result, then `send` it: after a
   * crash, resume the operation with `send(prepared, { resumed: true })`.
   */
  prepare(signal: SignalDraft, options?: PrepareOptions): PreparedSignal;
  /**
   * Sends a prepared signal until the gateway has accepted or rejected it. Retries network errors, timeouts,
   * 5xx, 429 and `request_in_progress`, always with the same key and bytes.
   */
  send(prepared: PreparedSignal, options?: SendOptions): Promise<Result<Acceptance>>;
  /** `prepare` and `send` in one. */
  submit(signal: SignalDraft, options?: PrepareOptions & CallOptions): Promise<Result<Acceptance>>;
  /** As `prepare`, for the cancel of one order. `orderRef` is in the status of its signal. */
  prepareCancel(orderRef: string, options?: PrepareOptions): PreparedCancel;
  /** Sends a prepared cancel until the gateway has accepted or rejected it; retries like `send`. */
  sendCancel(prepared: PreparedCancel, options?: SendOptions): Promise<Result<CancelAcceptance>>;
  /** `prepareCancel` and `sendCancel` in one. The outcome is in `executions[].cancel`. */
  cancel(
    orderRef: string,
    options?: PrepareOptions & CallOptions,
  ): Promise<Result<CancelAcceptance>>;
  /**
   * Streams the events of one terminal, in order, each once: an async iterable that reconnects automatically,
   * after 1, 2, 5, then 10 s plus jitter, or later if the gateway asks for it, and resumes after the last
   * yielded event. Yields a `replay_gap` if events were lost, or may have been lost because the stream broke
   * before it told where it begins. Ends when the caller aborts or leaves the loop.
   * @throws StreamRefused on 400, 401, 403, 404 and other errors that a retry cannot fix.
   */
  events(source: SourceName, options?: FollowOptions): AsyncGenerator<StreamItem, void, void>;
}

const defaultTimeoutMs = 10_000;
/** How long after a signal's expiry `send` still retries, to find out its outcome. */
const settleMs = 30_000;

/** @throws TypeError when `baseUrl` or `apiKey` is invalid. */
export function createBotClient(options: BotClientOptions): BotClient {
  const { clock = botClock, random = systemRandom, giveUpAfterMs } = options;
  const connection = {
    baseUrl: checkedBaseUrl(options.baseUrl),
    apiKey: checkedApiKey(options.apiKey),
    timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
    fetch: options.fetch ?? globalThis.fetch,
    clock,
  };
  const run = createRunOperation({ exchange: createExchange(connection), clock, random });
  const open = createOpenEvents(connection);
  const ids = createIdSource(clock);

  function prepare(
    signal: SignalDraft,
    { idempotencyKey = ids.ulid() }: PrepareOptions = {},
  ): PreparedSignal {
    const preparedAt = clock.now();
    const envelope = {
      ...checkedTarget(signal),
      v: signal.v ?? 1,
      signalId: signal.signalId ?? ids.ulid(),
      ts: signal.ts ?? preparedAt,
    };
    return {
      idempotencyKey: checkedIdempotencyKey(idempotencyKey),
      body: JSON.stringify(envelope),
      signalId: envelope.signalId,
      preparedAt,
      expiresAt: envelope.ts + envelope.ttlMs,
    };
  }

  async function send(
    prepared: PreparedSignal,
    { resumed = false, signal }: SendOptions = {},
  ): Promise<Result<Acceptance>> {
    const { body, preparedAt, expiresAt } = prepared;
    const idempotencyKey = checkedIdempotencyKey(prepared.idempotencyKey);
    return run({
      request: () => ({ method: 'POST', path: '/api/v1/signals', body, idempotencyKey }),
      read: (answer) => readAcceptance(answer.body, idempotencyKey, answer.replayed),
      mutation: { resumed, deduplicatedUntil: preparedAt + limits.idempotencyRetentionMs.value },
      delaysMs: mutationDelaysMs,
      giveUpAfterMs: giveUpAfterMs ?? Math.max(0, expiresAt - clock.now()) + settleMs,
      abort: signal,
    });
  }

  function prepareCancel(
    orderRef: string,
    { idempotencyKey = ids.ulid() }: PrepareOptions = {},
  ): PreparedCancel {
    const key = checkedIdempotencyKey(idempotencyKey);
    return { idempotencyKey: key, orderRef, preparedAt: clock.now() };
  }

  async function sendCancel(
    { idempotencyKey, orderRef, preparedAt }: PreparedCancel,
    { resumed = false, signal }: SendOptions = {},
  ): Promise<Result<CancelAcceptance>> {
    const path = `/api/v1/orders/${encodeURIComponent(orderRef)}/cancel`;
    const key = checkedIdempotencyKey(idempotencyKey);
    const request = { method: 'POST', path, idempotencyKey: key } as const;
    return run({
      request: () => request,
      read: (answer) => readCancelAcceptance(answer.body, idempotencyKey, answer.replayed),
      mutation: { resumed, deduplicatedUntil: preparedAt + limits.idempotencyRetentionMs.value },
      delaysMs: mutationDelaysMs,
      giveUpAfterMs: giveUpAfterMs ?? cancelGiveUpMs,
      abort: signal,
    });
  }

  return {
    ...createReads(run, giveUpAfterMs),
    ...createAllCancels({ run, clock, ids, giveUpAfterMs }),
    prepare,
    send,
    submit: async (signal, callOptions = {}) => send(prepare(signal, callOptions), callOptions),
    prepareCancel,
    sendCancel,
    cancel: async (orderRef, callOptions = {}) =>
      sendCancel(prepareCancel(orderRef, callOptions), callOptions),
    events(source, followOptions = {}) {
      checkCursor(followOptions.lastEventId);
      return followEvents({ open, clock, random }, source, followOptions);
    },
  };
}
