/**
 * The reads of the bot client: signals, and what terminals hold. They change nothing, so any failure that a retry
 * may cure is retried. Stateless.
 */
import type { CallOptions } from './call-options.js';
import { readDelaysMs } from './backoff.js';
import { field, text } from './json-fields.js';
import type { RunOperation } from './operation.js';
import type { Result } from './result.js';
import { readSignalStatus, type SignalStatus } from './signal-status.js';
import { readSources, sourceQuery, type SourceName, type TerminalSource } from './sources.js';
import { readEventData, type TerminalEventData } from './terminal-event.js';

export interface WaitOptions extends CallOptions {
  /** Milliseconds to wait for the result; an attempt in flight still gets its own timeout. */
  readonly timeoutMs: number;
  /**
   * Milliseconds between the reads when the gateway does not wait, as one that shuts down; the last value repeats.
   * Default: 1000, 2000, 5000, 10000.
   */
  readonly pollMs?: readonly [number, ...number[]];
}

export interface Reads {
  /** Reads the current status of a signal. */
  status(requestId: string, options?: CallOptions): Promise<Result<SignalStatus>>;
  /**
   * Waits until the signal is `completed` or the timeout passes: the gateway holds its answer back until then. After
   * the timeout it returns the last status, which is still `accepted`, or a failure.
   */
  waitForResult(requestId: string, options: WaitOptions): Promise<Result<SignalStatus>>;
  /** All signals of the user that are not completed, newest first: what a bot that comes back has to know. */
  open(options?: CallOptions): Promise<Result<readonly SignalStatus[]>>;
  /** The terminals that were seen within the heartbeat window (120 s). */
  sources(options?: CallOptions): Promise<Result<readonly TerminalSource[]>>;
  /** Asks a connected terminal with the capability `snapshot` for its account, positions and orders. */
  snapshot(source: SourceName, options?: CallOptions): Promise<Result<TerminalEventData>>;
}

const giveUpMs = 30_000;
/** Longest wait of one read: less than the gateway allows, and than most proxies let an answer take. */
const waitMsMax = 20_000;
/** Signals of one read of `open`: as many as the gateway gives. */
const pageLimit = 200;

interface Page {
  readonly signals: readonly SignalStatus[];
  readonly next: string | undefined;
}

/** @param giveUpAfterMs undefined for the default, 30 s. */
export function createReads(run: RunOperation, giveUpAfterMs: number = giveUpMs): Reads {
  const signalPath = (requestId: string): string =>
    `/api/v1/signals/${encodeURIComponent(requestId)}`;

  function get<T>(
    path: string,
    read: (body: unknown) => T | undefined,
    { signal }: CallOptions = {},
  ): Promise<Result<T>> {
    return run({
      request: () => ({ method: 'GET', path }),
      read: ({ body }) => read(body),
      delaysMs: readDelaysMs,
      giveUpAfterMs,
      abort: signal,
    });
  }

  return {
    status: (requestId, options) => get(signalPath(requestId), readSignalStatus, options),
    waitForResult: (requestId, { timeoutMs, pollMs = readDelaysMs, signal }) =>
      run({
        request: (leftMs) => {
          const waitMs = Math.floor(Math.max(0, Math.min(leftMs, waitMsMax)));
          return { method: 'GET', path: `${signalPath(requestId)}?waitMs=${waitMs}`, waitMs };
        },
        read: ({ body }) => readSignalStatus(body),
        isSettled: (status) => status.status === 'completed',
        delaysMs: pollMs,
        giveUpAfterMs: timeoutMs,
        abort: signal,
      }),
    async open(options) {
      const found: SignalStatus[] = [];
      let before: string | undefined;
      for (;;) {
        const from = before;
        const rest = from === undefined ? '' : `&before=${encodeURIComponent(from)}`;
        const path = `/api/v1/signals?status=open&limit=${pageLimit}${rest}`;
        const page = await get(path, (body) => readPage(body, from), options);
        if (!page.ok) return page;
        found.push(...page.value.signals);
        before = page.value.next;
        if (before === undefined) return { ok: true, value: found };
      }
    },
    sources: (options) => get('/api/v1/terminal-events/sources', readSources, options),
    snapshot: (source, options) =>
      get(`/api/v1/terminal-events/snapshot?${sourceQuery(source)}`, readEventData, options),
  };
}

/**
 * @returns undefined when the body is not a page of signals, or ends where it began, as from a proxy that drops the
 * query: its pages would have no end.
 */
function readPage(body: unknown, before: string | undefined): Page | undefined {
  const signals = field(body, 'signals');
  const next = field(body, 'next');
  if (!Array.isArray(signals) || (next !== null && text(next) === undefined)) return undefined;
  if (before !== undefined && next === before) return undefined;
  const read = signals.map(readSignalStatus).filter((status) => status !== undefined);
  return read.length < signals.length ? undefined : { signals: read, next: text(next) };
}
