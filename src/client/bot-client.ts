/**
 * The bot's side of the Public API, typed. It sends signals and reads what became of them, repeats
 * what may be repeated and never makes one order into two: an operation keeps its Idempotency-Key
 * and its bytes through every attempt. Failures are values, see `result.ts`; a throw is a mistake
 * in the call. It holds no state but its settings, and may be shared by any number of callers.
 */
import type { Clock } from '../lib/clock.js';
import { createIdSource, random as systemRandom } from '../lib/ids.js';
import { limits } from '../limits.js';
import { mutationDelaysMs, readDelaysMs } from './backoff.js';
import { botClock } from './bot-clock.js';
import { readCancelAcceptance, type CancelAcceptance, type PreparedCancel } from './cancel.js';
import {
  checkCursor,
  checkedApiKey,
  checkedBaseUrl,
  checkedIdempotencyKey,
} from './checked-settings.js';
import { createOpenEvents } from './event-connection.js';
import { followEvents, type FollowOptions } from './event-stream.js';
import { createExchange } from './exchange.js';
import { createRunOperation } from './operation.js';
import type { Result } from './result.js';
import {
  readAcceptance,
  type Acceptance,
  type PreparedSignal,
  type SignalDraft,
} from './signal.js';
import { readSignalStatus, type SignalStatus } from './signal-status.js';
import { readSources, type SourceName, type TerminalSource } from './sources.js';
import type { StreamItem } from './terminal-event.js';

export type { CancelAcceptance, PreparedCancel } from './cancel.js';
export { StreamRefused, type FollowOptions } from './event-stream.js';
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
  /** Where the gateway is, such as `http://127.0.0.1:8080`; a path prefix is kept. */
  readonly baseUrl: string;
  /** A Public API key, `svc_api_…`. It goes into the Authorization header and nowhere else. */
  readonly apiKey: string;
  /** Milliseconds for one attempt, the whole answer included. Default: 10000. */
  readonly timeoutMs?: number;
  /**
   * Milliseconds after which no further attempt begins; one under way still gets its `timeoutMs`.
   * Default: for a signal, 30 s longer than it lives, so that the last attempts can still learn
   * whether an earlier one was accepted; for a read, 30 s.
   */
  readonly giveUpAfterMs?: number;
  /** Default: the system's clock. */
  readonly clock?: Clock;
  /** A number in [0, 1) for the jitter of waits. Default: the system's. */
  readonly random?: () => number;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
}

export interface CallOptions {
  /** Ends waits and attempts. What was sent may have taken effect: the failure's kind says so. */
  readonly signal?: AbortSignal;
}

export interface PrepareOptions {
  /** Visible ASCII, spaces inside; one for each operation, never used before. Default: a ULID. */
  readonly idempotencyKey?: string;
}

export interface SendOptions extends CallOptions {
  /** True when an earlier run may have sent it: until the gateway settles it, it is `unknown`. */
  readonly resumed?: boolean;
}

export interface WaitOptions extends CallOptions {
  /** Milliseconds to wait for the result; an attempt under way still gets its own time-out. */
  readonly timeoutMs: number;
  /** Milliseconds between polls, the last one repeated. Default: 1000, 2000, 5000, 10000. */
  readonly pollMs?: readonly [number, ...number[]];
}

export interface BotClient {
  /**
   * Makes the signal's Idempotency-Key and bytes, without sending. Store them, then `send`: after a
   * crash the same operation goes on with `send(prepared, { resumed: true })`.
   */
  prepare(signal: SignalDraft, options?: PrepareOptions): PreparedSignal;
  /**
   * Sends a prepared signal until the gateway has accepted or refused it. Retries network errors,
   * time-outs, 5xx, 429 and `request_in_progress`, always with the same key and bytes.
   */
  send(prepared: PreparedSignal, options?: SendOptions): Promise<Result<Acceptance>>;
  /** `prepare` and `send` in one. */
  submit(signal: SignalDraft, options?: PrepareOptions & CallOptions): Promise<Result<Acceptance>>;
  /** Reads what became of a signal so far. */
  status(requestId: string, options?: CallOptions): Promise<Result<SignalStatus>>;
  /**
   * Polls, the first time at once, until the signal is `completed` or the time is over. Then it
   * gives the last answer as it was: a status that is still `accepted`, or the failure of the poll.
   */
  waitForResult(requestId: string, options: WaitOptions): Promise<Result<SignalStatus>>;
  /** As `prepare`, for the cancel of one order. `orderRef` is in the status of its signal. */
  prepareCancel(orderRef: string, options?: PrepareOptions): PreparedCancel;
  /** Sends a prepared cancel until the gateway has accepted or refused it; retries as `send`. */
  sendCancel(prepared: PreparedCancel, options?: SendOptions): Promise<Result<CancelAcceptance>>;
  /** `prepareCancel` and `sendCancel` in one. The outcome is in `executions[].cancel`. */
  cancel(
    orderRef: string,
    options?: PrepareOptions & CallOptions,
  ): Promise<Result<CancelAcceptance>>;
  /** The terminals that were seen within the heartbeat window (120 s). */
  sources(options?: CallOptions): Promise<Result<readonly TerminalSource[]>>;
  /**
   * Everything that happens at one terminal, in order, each once: an async iterable that connects
   * again by itself, after 1, 2, 5, then 10 s plus jitter or later if the gateway asks for it, and
   * goes on after the last event that it handed out. Where events are gone, or may be since no event
   * had come yet, it yields a `replay_gap`. Ends when the caller aborts or leaves the loop.
   * @throws StreamRefused on 400, 401, 403, 404 and whatever else waiting does not mend.
   */
  events(source: SourceName, options?: FollowOptions): AsyncGenerator<StreamItem, void, void>;
}

const defaultTimeoutMs = 10_000;
const readGiveUpAfterMs = 30_000;
const cancelGiveUpAfterMs = 60_000;
/** How long after its end of life a signal's outcome is still asked for. */
const settleMs = 30_000;

/** @throws TypeError when `baseUrl` or `apiKey` cannot be what they should. */
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
      ...signal,
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
      request: { method: 'POST', path: '/api/v1/signals', body, idempotencyKey },
      read: (answer) => readAcceptance(answer.body, idempotencyKey, answer.replayed),
      mutation: { resumed, recognisedUntil: preparedAt + limits.idempotencyRetentionMs.value },
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
    return run({
      request: { method: 'POST', path, idempotencyKey: checkedIdempotencyKey(idempotencyKey) },
      read: (answer) => readCancelAcceptance(answer.body, idempotencyKey, answer.replayed),
      mutation: { resumed, recognisedUntil: preparedAt + limits.idempotencyRetentionMs.value },
      delaysMs: mutationDelaysMs,
      giveUpAfterMs: giveUpAfterMs ?? cancelGiveUpAfterMs,
      abort: signal,
    });
  }

  function readStatus(requestId: string, abort: AbortSignal | undefined) {
    return {
      request: { method: 'GET', path: `/api/v1/signals/${encodeURIComponent(requestId)}` },
      read: (answer: { readonly body: unknown }) => readSignalStatus(answer.body),
      delaysMs: readDelaysMs,
      giveUpAfterMs: giveUpAfterMs ?? readGiveUpAfterMs,
      abort,
    } as const;
  }

  return {
    prepare,
    send,
    submit: async (signal, callOptions = {}) => send(prepare(signal, callOptions), callOptions),
    status: (requestId, { signal } = {}) => run(readStatus(requestId, signal)),
    waitForResult: (requestId, { timeoutMs, pollMs = readDelaysMs, signal }) =>
      run({
        ...readStatus(requestId, signal),
        isSettled: (status) => status.status === 'completed',
        delaysMs: pollMs,
        giveUpAfterMs: timeoutMs,
      }),
    prepareCancel,
    sendCancel,
    cancel: async (orderRef, callOptions = {}) =>
      sendCancel(prepareCancel(orderRef, callOptions), callOptions),
    sources: ({ signal } = {}) =>
      run({
        request: { method: 'GET', path: '/api/v1/terminal-events/sources' },
        read: (answer) => readSources(answer.body),
        delaysMs: readDelaysMs,
        giveUpAfterMs: giveUpAfterMs ?? readGiveUpAfterMs,
        abort: signal,
      }),
    events(source, followOptions = {}) {
      checkCursor(followOptions.lastEventId);
      return followEvents({ open, clock, random }, source, followOptions);
    },
  };
}
