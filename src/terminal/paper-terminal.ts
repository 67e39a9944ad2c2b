/**
 * The paper terminal: the reference plugin client with the simulated broker. Used by the demo, by tests and
 * by `signalbox terminal`. Lives from `start` to `stop`; with a journal it resumes unfinished orders after a
 * restart.
 */
import type { Clock, Timer } from '../lib/clock.js';
import { random as systemRandom } from '../lib/ids.js';
import { limits } from '../limits.js';
import type { CancelFrame, Evidence, SubmitFrame } from '../plugins/protocol.js';
import type { SourceName } from '../model/source-name.js';
import { openJournalFile } from './journal-file.js';
import { Journal, type CancelEvidence } from './journal.js';
import type { OutgoingQueue } from './outgoing.js';
import { createPaperBroker } from './paper-broker.js';
import { createPluginClient, type ClientNotice } from './plugin-client.js';
import { startRandomWalk } from './price-feed.js';
import type { TerminalEventDraft } from './terminal-event.js';

/** Activities of the terminal, in order. */
export type Activity =
  | ClientNotice
  | { readonly kind: 'submit'; readonly command: SubmitFrame }
  | { readonly kind: 'report'; readonly executionId: string; readonly evidence: Evidence }
  | ({ readonly kind: 'cancel' } & Pick<CancelFrame, 'cancelRequestId' | 'executionId'>)
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
  /** Milliseconds between two partial fills of an order; default 100. */
  readonly pieceMs?: number;
  /** Milliseconds that a cancel is pending before it takes effect; default 0. */
  readonly cancelMs?: number;
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
const outgoingQueues: Readonly<Record<string, OutgoingQueue>> = {
  terminal_b: {
    eventsMax: limits.outgoingQueueEventsMax.value,
    ageMs: limits.outgoingQueueAgeMs.value,
  },
};

/** @throws JournalRefused when the journal is in use, damaged, or cannot be written. */
export function createPaperTerminal(options: PaperTerminalOptions): PaperTerminal {
  const { source, clock, observer, journalDir, tickMs = 0, seed = 1 } = options;
  const { partialFills, pieceMs, cancelMs } = options;
  const outgoingQueue = outgoingQueues[source.platform];
  const file = journalDir === undefined ? undefined : openJournalFile(journalDir, source);
  const journal = new Journal(clock, file);
  let walk: Timer | undefined;
  let stopped: Promise<void> | undefined;

  const broker = createPaperBroker({
    clock,
    listener: {
      report(executionId, evidence) {
        observer({ kind: 'report', executionId, evidence });
        client.report(executionId, evidence);
      },
      cancelReport(cancelRequestId, evidence) {
        observer({ kind: 'cancel_report', cancelRequestId, evidence });
        client.cancelReport(cancelRequestId, evidence);
      },
      event(event) {
        observer({ kind: 'event', event });
        client.event(event);
      },
    },
    ...(partialFills === undefined ? {} : { partialFills }),
    ...(pieceMs === undefined ? {} : { pieceMs }),
    ...(cancelMs === undefined ? {} : { cancelMs }),
  });

  const client = createPluginClient({
    url: options.url,
    token: options.token,
    source,
    capabilities: ['submit', 'cancel', 'snapshot'],
    software: { name: 'signalbox-paper-terminal', version: '1' },
    clock,
    journal,
    random: options.random ?? systemRandom,
    ...(outgoingQueue === undefined ? {} : { outgoingQueue }),
    handler: {
      submit(command) {
        observer({ kind: 'submit', command });
        broker.submit(command);
      },
      cancel({ cancelRequestId, executionId }) {
        observer({ kind: 'cancel', cancelRequestId, executionId });
        broker.cancel(cancelRequestId, executionId);
      },
      restore: (executions) => broker.restore(executions),
      notice(notice) {
        observer(notice);
        if (notice.kind === 'connected') broker.sendState();
      },
    },
  });

  async function stop(): Promise<void> {
    walk?.cancel();
    broker.stop();
    await client.stop();
    journal.close();
  }

  return {
    start() {
      client.start();
      if (tickMs === 0) return;
      walk = startRandomWalk({
        clock,
        seed,
        tickMs,
        priceOf: (symbol) => broker.priceOf(symbol),
        onPrice: (symbol, price) => broker.setPrice(symbol, price),
      });
    },
    stop: () => (stopped ??= stop()),
    setPrice: (symbol, price) => broker.setPrice(symbol, price),
  };
}
