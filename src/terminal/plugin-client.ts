/**
 * The reference client of the terminal plugin protocol (section 6 of the contract). Writes each command to
 * the journal, acknowledges it, then passes it to the terminal, once; writes each report to the journal, then
 * sends it until the gateway acknowledges it. Owns the connection and the outgoing queue; the caller owns the
 * journal.
 */
import { errorText } from '../lib/error-text.js';
import { toIsoTime, type Clock } from '../lib/clock.js';
import { assert } from '../lib/assert.js';
import {
  type CancelFrame,
  type ErrorFrame,
  type Evidence,
  type GatewayFrame,
  type PluginFrame,
  type PluginFrameOf,
  type SubmitFrame,
  type WelcomeFrame,
} from '../plugins/protocol.js';
import type { SourceName } from '../model/source-name.js';
import { assertTaken, faultIn } from './frame-fault.js';
import { GatewayLink, type LinkNotice } from './gateway-link.js';
import type { Journal } from './journal.js';
import {
  evidenceOf,
  type CancelEvidence,
  type KnownExecution,
  type ReportFrame,
} from './journal-state.js';
import { knownExecutions } from './known-executions.js';
import { Outgoing, type EventFrame, type OutgoingQueue } from './outgoing.js';
import type { TerminalEventDraft } from './terminal-event.js';

export type ClientNotice =
  | LinkNotice
  /** A redelivered command or cancel; it is not executed again. */
  | { readonly kind: 'repeated'; readonly id: string }
  | { readonly kind: 'gateway_error'; readonly code: ErrorFrame['code']; readonly message: string };

/** A cancel that the gateway asks for. */
export type CancelRequest = Pick<CancelFrame, 'cancelRequestId' | 'executionId'>;

/** Callbacks into the terminal. */
export interface TerminalHandler {
  /** Execute the command. Called once per executionId. */
  submit(command: SubmitFrame): void;
  /**
   * An earlier process was given the command and did not report on it, so it may have reached the broker.
   * `execute` submits it unless it has expired: only for a broker that certainly does not have it.
   */
  inDoubt(command: SubmitFrame, execute: () => void): void;
  /** Cancel the order. Called once per cancelRequestId; after a crash again, if no outcome was reported. */
  cancel(request: CancelRequest): void;
  /** Send a `state_snapshot` with this id in its `data`. Asked only with the capability `snapshot`. */
  snapshot(snapshotId: string): void;
  /** Called first, at the start, with the executions of the journal. */
  restore(executions: readonly KnownExecution[]): void;
  notice(notice: ClientNotice): void;
}

export interface PluginClientOptions {
  /** `ws://` or `http://` base of the gateway. */
  readonly url: string;
  /** Returns the session token; called at each attempt to connect. */
  readonly token: () => Promise<string> | string;
  readonly source: SourceName;
  readonly capabilities: PluginFrameOf<'hello'>['capabilities'];
  readonly software: NonNullable<PluginFrameOf<'hello'>['software']>;
  readonly clock: Clock;
  readonly journal: Journal;
  readonly handler: TerminalHandler;
  /** Without it, events are dropped while disconnected. */
  readonly outgoingQueue?: OutgoingQueue;
  /** In [0, 1), for the jitter of reconnects. */
  readonly random: () => number;
}

export interface PluginClient {
  start(): void;
  /** Flushes the journal and disconnects; resolves when the socket is closed. */
  stop(): Promise<void>;
  /** Whether a command of the journal must not be executed any more. */
  hasExpired(executionId: string): boolean;
  /** @throws TypeError when the gateway would refuse it; nothing is stored then. The other two throw it, too. */
  report(executionId: string, evidence: Evidence): void;
  cancelReport(cancelRequestId: string, evidence: CancelEvidence): void;
  /** @returns false when the event was dropped: larger than a frame, or no connection and no queue. */
  event(event: TerminalEventDraft): boolean;
}

interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

/** A monotonic clock may stand still while its computer sleeps. Smaller differences are corrections of the clock. */
const sleepMsMin = 1_000;
const slept = 'the computer has slept, or its clock was set: asking for the gateway’s time again';

export function createPluginClient(options: PluginClientOptions): PluginClient {
  const { clock, journal, handler, source } = options;
  const link = new GatewayLink({
    url: options.url,
    token: options.token,
    clock,
    random: options.random,
    hello,
    onWelcome,
    onFrame,
    onLost: () => outgoing.close(),
    onNotice: (notice) => handler.notice(notice),
  });
  const outgoing = new Outgoing({
    journal,
    clock,
    queue: options.outgoingQueue,
    dropNotice: (dropped, reason) =>
      frameOf({ event: 'terminal_message', data: { dropped, reason } }),
  });
  /** Work to do after the next flush of the journal, in order. */
  let afterFlush: (() => void)[] = [];
  let nextFlush: NodeJS.Immediate | undefined;
  /** The gateway's time in the latest welcome, and the moment of the hello before it. */
  let gatewayTime: { readonly unixMs: number; readonly since: Moment } | undefined;
  /** Moment of the last hello: the gateway reads its clock after that, and the welcome may take long to arrive. */
  let helloAt: Moment = { monotonic: 0, wall: 0 };
  /** Commands that came after a sleep: the next welcome tells whether they have expired. */
  let undated: SubmitFrame[] = [];
  let isResumed = false;

  function hello(): PluginFrame {
    helloAt = { monotonic: clock.monotonic(), wall: clock.now() };
    return {
      type: 'hello',
      ...source,
      capabilities: options.capabilities,
      software: options.software,
      executions: knownExecutions(journal, outgoing),
    };
  }

  function onWelcome({ serverTime, lastSeq, outgoingQueue }: WelcomeFrame): void {
    gatewayTime = { unixMs: Date.parse(serverTime), since: helloAt };
    outgoing.open(lastSeq, outgoingQueue);
    if (!isResumed) resume();
    const late = undated;
    undated = [];
    // Only the expired ones: the gateway sends the others again, unless they are not wanted any more.
    for (const submit of late) if (hasExpired(submit)) onSubmit(submit);
    flushSoon();
  }

  /** Takes up the stored commands that an earlier process did not report on, and its cancels without an outcome. */
  function resume(): void {
    isResumed = true;
    for (const { submit, isReported } of journal.executions()) {
      if (!isReported) flushSoon(() => handler.inDoubt(submit, () => execute(submit)));
    }
    for (const { cancelRequestId, executionId, evidence } of journal.cancels()) {
      const isOpen = evidence === undefined || evidence.status === 'pending';
      if (isOpen) flushSoon(() => handler.cancel({ cancelRequestId, executionId }));
    }
  }

  function onFrame(frame: Exclude<GatewayFrame, WelcomeFrame>): void {
    switch (frame.type) {
      case 'submit':
        if (sleptMs() === 0) return onSubmit(frame);
        undated.push(frame);
        return link.renew(slept);
      case 'cancel':
        return sleptMs() === 0 ? onCancel(frame) : link.renew(slept);
      case 'snapshot':
        return handler.snapshot(frame.snapshotId);
      case 'ack':
        return outgoing.acknowledge(frame.seq);
      case 'error':
        handler.notice({ kind: 'gateway_error', code: frame.code, message: frame.message });
    }
  }

  function onSubmit(submit: SubmitFrame): void {
    const { executionId } = submit;
    const isRepeated = journal.execution(executionId) !== undefined;
    if (isRepeated) handler.notice({ kind: 'repeated', id: executionId });
    else journal.noteSubmit(submit);
    flushSoon(() => {
      link.send({ type: 'ack', executionId });
      if (isRepeated) reportAgain(executionId);
      else execute(submit);
    });
  }

  /** Compares with the gateway's clock: the terminal's own clock may be wrong by more than the TTL. */
  function execute(submit: SubmitFrame): void {
    if (!hasExpired(submit)) return handler.submit(submit);
    report(submit.executionId, { status: 'expired', reasonCode: 'ttl_expired' });
  }

  function hasExpired({ expiresAt }: SubmitFrame): boolean {
    return gatewayNow() >= Date.parse(expiresAt);
  }

  function reportAgain(executionId: string): void {
    const known = journal.execution(executionId);
    if (known?.isReported === true) addReport(reportOf(executionId, evidenceOf(known)));
  }

  function onCancel({ cancelRequestId, executionId }: CancelFrame): void {
    const isRepeated = journal.cancel(cancelRequestId) !== undefined;
    if (isRepeated) handler.notice({ kind: 'repeated', id: cancelRequestId });
    else journal.noteCancel(cancelRequestId, executionId);
    flushSoon(() => {
      link.send({ type: 'ack', cancelRequestId });
      const evidence = journal.cancel(cancelRequestId)?.evidence;
      if (!isRepeated) handler.cancel({ cancelRequestId, executionId });
      else if (evidence !== undefined) addReport(cancelReportOf(cancelRequestId, evidence));
    });
  }

  function gatewayNow(): number {
    if (gatewayTime === undefined) return clock.now();
    const { unixMs, since } = gatewayTime;
    return unixMs + clock.monotonic() - since.monotonic + sleptMs();
  }

  /** Time since the hello that the monotonic clock has not counted; also when the wall clock was set forward. */
  function sleptMs(): number {
    if (gatewayTime === undefined) return 0;
    const { monotonic, wall } = gatewayTime.since;
    const ms = clock.now() - wall - (clock.monotonic() - monotonic);
    return ms >= sleepMsMin ? ms : 0;
  }

  function report(executionId: string, evidence: Evidence): void {
    assert(journal.execution(executionId) !== undefined, 'only what was submitted is reported');
    const frame = reportOf(executionId, evidence);
    assertTaken(frame);
    addReport(frame);
  }

  function cancelReport(cancelRequestId: string, evidence: CancelEvidence): void {
    const frame = cancelReportOf(cancelRequestId, evidence);
    assertTaken(frame);
    addReport(frame);
  }

  function reportOf(executionId: string, evidence: Evidence): ReportFrame {
    return { type: 'report', executionId, ...evidence, occurredAt: toIsoTime(clock.now()) };
  }

  function cancelReportOf(cancelRequestId: string, evidence: CancelEvidence): ReportFrame {
    const occurredAt = toIsoTime(clock.now());
    return { type: 'cancel_report', cancelRequestId, ...evidence, occurredAt };
  }

  function addReport(frame: ReportFrame): void {
    outgoing.addReport(frame);
    flushSoon();
  }

  function event(draft: TerminalEventDraft): boolean {
    const frame = frameOf(draft);
    const fault = faultIn(frame);
    if (fault?.code === 'frame_too_large') return false;
    if (fault !== undefined) throw new TypeError(fault.message);
    if (!outgoing.addEvent(frame)) return false;
    flushSoon();
    return true;
  }

  function frameOf(draft: TerminalEventDraft): EventFrame {
    return { type: 'event', ...draft, occurredAt: toIsoTime(clock.now()) };
  }

  /** All entries of one turn of the event loop share one flush. */
  function flushSoon(work?: () => void): void {
    if (work !== undefined) afterFlush.push(work);
    nextFlush ??= setImmediate(flush);
  }

  function flush(): void {
    nextFlush = undefined;
    const works = afterFlush;
    afterFlush = [];
    try {
      journal.flush();
    } catch (error) {
      link.refuse({
        reason: 'journal_failed',
        message: `The journal cannot be written: ${errorText(error)}. The terminal stops, because it must not acknowledge commands that are not durable.`,
      });
      return;
    }
    for (const frame of outgoing.takeUnsent()) link.send(frame);
    for (const work of works) work();
  }

  return {
    start() {
      handler.restore(journal.executions().filter(({ isReported }) => isReported));
      link.start();
    },
    stop() {
      while (nextFlush !== undefined) {
        clearImmediate(nextFlush);
        flush();
      }
      return link.stop();
    },
    hasExpired(executionId) {
      const known = journal.execution(executionId);
      return known !== undefined && hasExpired(known.submit);
    },
    report,
    cancelReport,
    event,
  };
}
