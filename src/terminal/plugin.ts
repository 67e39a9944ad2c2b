/**
 * A plugin for a terminal of your own: `signalbox/plugin`. Joins journal, outgoing queue, deduplication and
 * reconnecting behind functions that trade. Owns the journal from its creation until it is stopped; with a
 * directory the journal survives a kill, without one it ends with the process.
 */
import { systemClock, type Clock } from '../lib/clock.js';
import { cutText } from '../lib/cut-text.js';
import { errorText } from '../lib/error-text.js';
import { isObject } from '../lib/is-object.js';
import { random as systemRandom } from '../lib/ids.js';
import { limits } from '../limits.js';
import { isFinal } from '../model/execution.js';
import type { SourceName } from '../model/source-name.js';
import {
  frameBytesMax,
  nativeLengthMax,
  type Evidence,
  type PluginFrameOf,
  type SubmitFrame,
} from '../plugins/protocol.js';
import { openJournal } from './journal-file.js';
import { Journal } from './journal.js';
import { type CancelEvidence, type KnownExecution, unknownOrder } from './journal-state.js';
import { defaultQueue } from './outgoing.js';
import {
  createPluginClient,
  type CancelRequest,
  type ClientNotice,
  type PluginClient,
} from './plugin-client.js';
import type { TerminalEventDraft } from './terminal-event.js';

export type { SourceName } from '../model/source-name.js';
export {
  isFault,
  readCommand,
  type Command,
  type CommandFault,
  type Order,
  type TerminalFields,
} from '../plugins/commands.js';
export type { CancelFrame, Evidence, SubmitFrame } from '../plugins/protocol.js';
export { JournalRefused } from './journal-file.js';
export type { CancelEvidence, KnownExecution } from './journal-state.js';
export type { CancelRequest, ClientNotice } from './plugin-client.js';
export { logIn, type LoginRequest, type LoginResult } from './session-login.js';
export type { TerminalEventDraft } from './terminal-event.js';

export interface PluginNotice {
  readonly kind: 'failed';
  /** executionId, cancelRequestId or snapshotId. */
  readonly id: string;
  readonly message: string;
}

/** What a terminal does. All but `submit` can be left out. */
export interface Terminal {
  /** Executes a command, which is stored and acknowledged. Called once per executionId. Report its results. */
  submit(command: SubmitFrame): void | Promise<void>;
  /**
   * Cancels an order of the journal, when its `submit` has resolved. Called once per cancelRequestId; after a restart
   * again, if no outcome was reported.
   */
  cancel?(request: CancelRequest): void | Promise<void>;
  /**
   * Called after a restart for a command that an earlier process was given and did not report on: it may have
   * reached the broker. Ask the broker, by the executionId. @returns what to report; `execute` where the broker
   * certainly does not have it, so that it is executed unless it has expired; nothing if a report will follow.
   * Without it, such a command is reported as `unknown`.
   */
  inDoubt?(command: SubmitFrame): Doubt | Promise<Doubt>;
  /**
   * What the terminal holds, for `data` of a `state_snapshot`: `account`, `positions` and `orders`. When the orders
   * do not fit into a frame, the first ones are left out. One that does not fit without orders is not sent, but `failed`.
   */
  snapshot?(): object | Promise<object>;
  /** Called first, with the executions of the journal on which an earlier process has reported. */
  restore?(executions: readonly KnownExecution[]): void;
  notice?(notice: ClientNotice | PluginNotice): void;
}

export type Doubt = Evidence | 'execute' | undefined;

export interface PluginOptions {
  /** `ws://` or `http://` base of the gateway; a path prefix is kept. */
  readonly url: string;
  /** Returns the session token of `logIn`; called at each attempt to connect. */
  readonly token: () => Promise<string> | string;
  readonly source: SourceName;
  readonly terminal: Terminal;
  /** Directory of the journal. Several plugins can share one. */
  readonly journalDir?: string;
  /** Shown to the operator. */
  readonly software?: PluginFrameOf<'hello'>['software'];
  /** Whether events that happen while disconnected are kept, within the bounds of the gateway; default: no. */
  readonly queuesEvents?: boolean;
  readonly clock?: Clock;
  /** A number in [0, 1) for the jitter of reconnects; default: the system's. */
  readonly random?: () => number;
}

export interface Plugin extends Pick<PluginClient, 'report' | 'cancelReport' | 'event'> {
  /** Connects; after `stop`, does nothing. Keeps the process alive until the plugin is stopped or must not reconnect. */
  start(): void;
  /** What the journal knows of an execution: its latest report and its fills. */
  known(executionId: string): KnownExecution | undefined;
  /** Whether the command must not be executed any more, by the gateway's clock: for a terminal that has to wait first. */
  hasExpired(executionId: string): boolean;
  /** Makes durable what was reported, for a terminal that acknowledges to its broker. @throws when it cannot. */
  flush(): void;
  /** Disconnects; resolves when connection and journal are closed. May be called again. */
  stop(): Promise<void>;
}

const notKnown: Evidence = {
  status: 'unknown',
  native: { text: 'The plugin ended while it executed this command: look at the broker.' },
};
const failed = { status: 'unknown', reasonCode: 'plugin_error' } as const;
const cannotCancel: CancelEvidence = { status: 'rejected', reasonCode: 'unable_to_cancel' };

interface Snapshot {
  readonly snapshotId: string;
  readonly orders: readonly object[];
  readonly ordersOmitted?: number;
}

const unsentSnapshot =
  'The snapshot was not sent: even without its orders it is larger than a frame, or the connection has ended.';

/** Leaves room in the frame for the rest of the event. */
const snapshotBytesMax = frameBytesMax - 1_024;

/** @throws JournalRefused when the journal is in use, damaged, or cannot be written. */
export function createPlugin(options: PluginOptions): Plugin {
  const { source, terminal, clock = systemClock, software, journalDir } = options;
  const journal =
    journalDir === undefined
      ? new Journal(clock)
      : openJournal(journalDir, source, 'journal', (file) => new Journal(clock, file));
  /** Commands whose `submit` or `inDoubt` has not resolved: a cancel of them waits. */
  const beginning = new Map<string, Promise<unknown>>();
  let stopped: Promise<void> | undefined;

  const client = createPluginClient({
    url: options.url,
    token: options.token,
    source,
    capabilities: [
      'submit',
      ...(terminal.cancel === undefined ? [] : (['cancel'] as const)),
      ...(terminal.snapshot === undefined ? [] : (['snapshot'] as const)),
    ],
    software: software ?? { name: 'signalbox-plugin', version: '1' },
    clock,
    journal,
    random: options.random ?? systemRandom,
    ...(options.queuesEvents === true ? { outgoingQueue: defaultQueue } : {}),
    handler: {
      submit: (command) => begin(command, () => terminal.submit(command)),
      inDoubt: (command, execute) =>
        begin(command, () => {
          const take = (found: Doubt): void => {
            if (stopped !== undefined) return;
            if (found === 'execute') execute();
            else if (found !== undefined) report(command.executionId, found);
          };
          const found = terminal.inDoubt === undefined ? notKnown : terminal.inDoubt(command);
          return found instanceof Promise ? found.then(take) : take(found);
        }),
      cancel: cancelAfterSubmit,
      snapshot: (snapshotId) => void guard(snapshotId, () => sendSnapshot(snapshotId)),
      restore: (executions) => terminal.restore?.(executions),
      notice: (happened) => terminal.notice?.(happened),
    },
  });

  /** The command may have reached the broker before the terminal failed, so only `unknown` is true. */
  function begin({ executionId }: SubmitFrame, work: () => unknown): void {
    // The terminal has stopped the plugin over an earlier command: this one is in doubt at the next start.
    if (stopped !== undefined) return;
    const begun = guard(executionId, work, (text) => {
      const known = journal.execution(executionId);
      if (known?.isReported === true && isFinal(known.status)) return;
      report(executionId, { ...failed, native: { text } });
    });
    if (begun === undefined) return;
    beginning.set(executionId, begun);
    void begun.then(() => {
      if (beginning.get(executionId) === begun) beginning.delete(executionId);
    });
  }

  /** When its doubt ends, a command may be submitted: the cancel waits for that, too. */
  function cancelAfterSubmit(request: CancelRequest): void {
    const begun = beginning.get(request.executionId);
    if (begun === undefined) cancel(request);
    else void begun.then(() => cancelAfterSubmit(request));
  }

  function cancel(request: CancelRequest): void {
    const { cancelRequestId, executionId } = request;
    // The cancel has waited for its order; the next start asks for it again.
    if (stopped !== undefined) return;
    if (journal.execution(executionId) === undefined) {
      return cancelReport(cancelRequestId, unknownOrder);
    }
    if (terminal.cancel === undefined) return cancelReport(cancelRequestId, cannotCancel);
    const work = (): unknown => terminal.cancel?.(request);
    void guard(cancelRequestId, work, (text) =>
      cancelReport(cancelRequestId, { ...failed, native: { text } }),
    );
  }

  async function sendSnapshot(snapshotId: string): Promise<void> {
    const found = { account: {}, positions: [], orders: [], ...(await terminal.snapshot?.()) };
    const isSent = event({ event: 'state_snapshot', data: fitting({ ...found, snapshotId }) });
    if (!isSent && stopped === undefined) throw new Error(unsentSnapshot);
  }

  /** A terminal that throws must not end the process with its other orders. @returns the work, if it goes on. */
  function guard(
    id: string,
    work: () => unknown,
    onFailed: (text: string) => void = () => undefined,
  ): Promise<unknown> | undefined {
    const fail = (error: unknown): void => {
      const message = cutText(errorText(error), limits.rawTextLengthMax.value);
      terminal.notice?.({ kind: 'failed', id, message });
      onFailed(message);
    };
    try {
      const result = work();
      return result instanceof Promise ? result.catch(fail) : undefined;
    } catch (error) {
      fail(error);
      return undefined;
    }
  }

  /** After the stop the journal is closed: a command that is reported on then is in doubt at the next start. */
  function report(executionId: string, evidence: Evidence): void {
    if (stopped === undefined) client.report(executionId, cut(evidence));
  }

  function cancelReport(cancelRequestId: string, evidence: CancelEvidence): void {
    if (stopped === undefined) client.cancelReport(cancelRequestId, cut(evidence));
  }

  function event(draft: TerminalEventDraft): boolean {
    return stopped === undefined && client.event(draft);
  }

  async function stop(): Promise<void> {
    await client.stop();
    journal.close();
  }

  return {
    start() {
      if (stopped === undefined) client.start();
    },
    known: (executionId) => journal.execution(executionId),
    hasExpired: (executionId) => client.hasExpired(executionId),
    flush: () => journal.flush(),
    stop: () => (stopped ??= stop()),
    report,
    cancelReport,
    event,
  };
}

/** Cuts texts that are too long: the gateway would refuse the frame, and the report would be lost. */
function cut<E extends { readonly native?: object | undefined }>(evidence: E): E {
  // A spread of anything else would make an object that looks right and says nothing.
  if (!isObject(evidence.native)) return evidence;
  const native = { ...evidence.native } as Record<string, unknown>;
  for (const [name, lengthMax] of Object.entries(nativeLengthMax)) {
    const value = native[name];
    if (typeof value === 'string') native[name] = cutText(value, lengthMax);
  }
  return { ...evidence, native };
}

/** Leaves out the oldest orders, a quarter at a time, until the rest fits into a frame. */
function fitting(snapshot: Snapshot): Snapshot {
  const { orders, ordersOmitted = 0 } = snapshot;
  const bytes = Buffer.byteLength(JSON.stringify(snapshot));
  if (bytes <= snapshotBytesMax || orders.length === 0) return snapshot;
  const less = Math.ceil(orders.length / 4);
  return fitting({
    ...snapshot,
    orders: orders.slice(less),
    ordersOmitted: ordersOmitted + less,
  });
}
