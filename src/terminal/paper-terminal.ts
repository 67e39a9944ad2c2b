/**
 * The paper terminal: the reference plugin with the simulated broker. Used by the demo, by tests and
 * by `signalbox terminal`. Lives from `start` to `stop`; with a journal it resumes unfinished orders after a
 * restart.
 */
import type { Clock, Timer } from '../lib/clock.js';
import type { Evidence, SubmitFrame } from '../plugins/protocol.js';
import type { SourceName } from '../model/source-name.js';
import type { CancelEvidence } from './journal-state.js';
import { createPaperBroker } from './paper-broker.js';
import type { ClientNotice } from './plugin-client.js';
import { createPlugin, type CancelRequest, type PluginNotice } from './plugin.js';
import { startRandomWalk } from './price-feed.js';
import type { TerminalEventDraft } from './terminal-event.js';

/** Activities of the terminal, in order. */
export type Activity =
  | ClientNotice
  | PluginNotice
  | { readonly kind: 'submit'; readonly command: SubmitFrame }
  | { readonly kind: 'report'; readonly executionId: string; readonly evidence: Evidence }
  | ({ readonly kind: 'cancel' } & CancelRequest)
  | {
      readonly kind: 'cancel_report';
      readonly cancelRequestId: string;
      readonly evidence: CancelEvidence;
    }
  | { readonly kind: 'event'; readonly event: TerminalEventDraft };

export interface PaperTerminalOptions {
  /** `ws://` or `http://` base of the gateway. */
  readonly url: string;
  /** Returns the session token; called at each attempt to connect. */
  readonly token: () => Promise<string> | string;
  readonly source: SourceName;
  readonly clock: Clock;
  /** Called for each activity; must not throw. */
  readonly observer: (activity: Activity) => void;
  /** Directory of the journal; without it, the state is lost with the process. */
  readonly journalDir?: string;
  /** Milliseconds between two steps of the random walk; default 0: prices do not move. */
  readonly tickMs?: number;
  /** Seed of the random walk; default 1. */
  readonly seed?: number;
  /** Partial fills per order, unless its payload has `partialFills`; default 1. */
  readonly partialFills?: number;
  /** A number in [0, 1) for the jitter of reconnects; default: the system's. */
  readonly random?: () => number;
}

export interface PaperTerminal {
  start(): void;
  /** Disconnects; resolves when the connection and the journal are closed. */
  stop(): Promise<void>;
  /** @returns false when the instrument or the price is invalid. */
  setPrice(symbol: string, price: number): boolean;
}

/** Platforms whose terminals queue events while disconnected; the others drop them. */
const platformsWithQueue: readonly string[] = ['terminal_b'];

/** @throws JournalRefused when the journal is in use, damaged, or cannot be written. */
export function createPaperTerminal(options: PaperTerminalOptions): PaperTerminal {
  const { source, clock, observer, journalDir, partialFills, tickMs = 0, seed = 1 } = options;
  let walk: Timer | undefined;

  const broker = createPaperBroker({
    clock,
    listener: {
      report(executionId, evidence) {
        observer({ kind: 'report', executionId, evidence });
        plugin.report(executionId, evidence);
      },
      cancelReport(cancelRequestId, evidence) {
        observer({ kind: 'cancel_report', cancelRequestId, evidence });
        plugin.cancelReport(cancelRequestId, evidence);
      },
      event(event) {
        observer({ kind: 'event', event });
        plugin.event(event);
      },
    },
    ...(partialFills === undefined ? {} : { partialFills }),
  });

  const plugin = createPlugin({
    url: options.url,
    token: options.token,
    source,
    software: { name: 'signalbox-paper-terminal', version: '1' },
    clock,
    ...(journalDir === undefined ? {} : { journalDir }),
    ...(options.random === undefined ? {} : { random: options.random }),
    queuesEvents: platformsWithQueue.includes(source.platform),
    terminal: {
      submit(command) {
        observer({ kind: 'submit', command });
        broker.submit(command);
      },
      // The broker ended with the earlier process: it has no order that was not reported.
      inDoubt: () => 'execute',
      cancel({ cancelRequestId, executionId }) {
        observer({ kind: 'cancel', cancelRequestId, executionId });
        broker.cancel(cancelRequestId, executionId);
      },
      snapshot() {
        const data = broker.snapshot();
        observer({ kind: 'event', event: { event: 'state_snapshot', data } });
        return data;
      },
      restore: (executions) => broker.restore(executions),
      notice(notice) {
        observer(notice);
        if (notice.kind === 'connected') broker.sendState();
      },
    },
  });

  return {
    start() {
      plugin.start();
      if (tickMs === 0) return;
      walk = startRandomWalk({
        clock,
        seed,
        tickMs,
        priceOf: (symbol) => broker.priceOf(symbol),
        onPrice: (symbol, price) => broker.setPrice(symbol, price),
      });
    },
    stop() {
      walk?.cancel();
      // The plugin first: it still hands commands over that have just come, and the broker must stop those, too.
      const stopped = plugin.stop();
      broker.stop();
      return stopped;
    },
    setPrice: (symbol, price) => broker.setPrice(symbol, price),
  };
}
