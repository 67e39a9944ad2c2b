/**
 * The reference client of the terminal plugin protocol (section 6 of the contract): each command is
 * noted on disk, acknowledged, then handed to the terminal, once; each report is noted on disk, then
 * sent until the gateway has it. Owns the link and what goes out; the journal belongs to the caller.
 */
import { errorText } from '../lib/error-text.js';
import { toIsoTime, type Clock } from '../lib/clock.js';
import { assert } from '../lib/assert.js';
import {
  frameBytesMax,
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
import { GatewayLink, type LinkNotice } from './gateway-link.js';
import { evidenceOf, type CancelEvidence, type Journal, type KnownExecution } from './journal.js';
import { knownExecutions } from './known-executions.js';
import { Outgoing, type EventFrame, type OutgoingQueue } from './outgoing.js';
import type { TerminalEventDraft } from './terminal-event.js';

export type ClientNotice =
  | LinkNotice
  /** The gateway had sent it before; it is not carried out again. */
  | { readonly kind: 'repeated'; readonly id: string }
  | { readonly kind: 'gateway_error'; readonly code: ErrorFrame['code']; readonly message: string };

/** What the client asks of the terminal. */
export interface TerminalHandler {
  /** Carry it out. Comes once per executionId; after a crash again, if nothing was reported of it. */
  submit(command: SubmitFrame): void;
  /** Cancel it. Likewise once per cancelRequestId. */
  cancel(request: Pick<CancelFrame, 'cancelRequestId' | 'executionId'>): void;
  /** Before anything else, when the client starts: what the journal remembers. */
  restore(executions: readonly KnownExecution[]): void;
  notice(notice: ClientNotice): void;
}

export interface PluginClientOptions {
  /** `ws://` or `http://` base of the gateway. */
  readonly url: string;
  /** The session token; asked for at each attempt to connect. */
  readonly token: () => Promise<string> | string;
  readonly source: SourceName;
  readonly capabilities: PluginFrameOf<'hello'>['capabilities'];
  readonly software: NonNullable<PluginFrameOf<'hello'>['software']>;
  readonly clock: Clock;
  readonly journal: Journal;
  readonly handler: TerminalHandler;
  /** Without it, events that come while the gateway cannot be reached are lost. */
  readonly outgoingQueue?: OutgoingQueue;
  /** In [0, 1), for the jitter of reconnects. */
  readonly random: () => number;
}

export interface PluginClient {
  start(): void;
  /** Sends nothing more; resolves when the socket is gone. */
  stop(): Promise<void>;
  report(executionId: string, evidence: Evidence): void;
  cancelReport(cancelRequestId: string, evidence: CancelEvidence): void;
  /** @returns false when it was not kept: larger than a frame, or nobody there to hear it. */
  event(event: TerminalEventDraft): boolean;
}

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
  /** What waits for the journal to be on disk, in order. */
  let afterFlush: (() => void)[] = [];
  let nextFlush: NodeJS.Immediate | undefined;
  /** The gateway's clock, as of the latest welcome. */
  let gatewayTime: { readonly unixMs: number; readonly monotonic: number } | undefined;
  let isResumed = false;

  function hello(): PluginFrame {
    return {
      type: 'hello',
      ...source,
      capabilities: options.capabilities,
      software: options.software,
      executions: knownExecutions(journal, outgoing),
    };
  }

  function onWelcome({ serverTime, lastSeq }: WelcomeFrame): void {
    gatewayTime = { unixMs: Date.parse(serverTime), monotonic: clock.monotonic() };
    outgoing.open(lastSeq);
    if (!isResumed) resume();
    flushSoon();
  }

  /** Takes up what an earlier process had noted and not begun. */
  function resume(): void {
    isResumed = true;
    for (const { submit, isReported } of journal.executions()) {
      if (!isReported) flushSoon(() => carryOut(submit));
    }
    for (const { cancelRequestId, executionId, evidence } of journal.cancels()) {
      if (evidence === undefined) flushSoon(() => handler.cancel({ cancelRequestId, executionId }));
    }
  }

  function onFrame(frame: Exclude<GatewayFrame, WelcomeFrame>): void {
    switch (frame.type) {
      case 'submit':
        return onSubmit(frame);
      case 'cancel':
        return onCancel(frame);
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
      else carryOut(submit);
    });
  }

  /** Judged on the gateway's time: a terminal's own clock may be off by more than the TTL. */
  function carryOut(submit: SubmitFrame): void {
    const { executionId, expiresAt } = submit;
    if (gatewayNow() < Date.parse(expiresAt)) handler.submit(submit);
    else report(executionId, { status: 'expired', reasonCode: 'ttl_expired' });
  }

  function reportAgain(executionId: string): void {
    const known = journal.execution(executionId);
    if (known?.isReported === true) report(executionId, evidenceOf(known));
  }

  function onCancel({ cancelRequestId, executionId }: CancelFrame): void {
    const isRepeated = journal.cancel(cancelRequestId) !== undefined;
    if (isRepeated) handler.notice({ kind: 'repeated', id: cancelRequestId });
    else journal.noteCancel(cancelRequestId, executionId);
    flushSoon(() => {
      link.send({ type: 'ack', cancelRequestId });
      const evidence = journal.cancel(cancelRequestId)?.evidence;
      if (!isRepeated) handler.cancel({ cancelRequestId, executionId });
      else if (evidence !== undefined) cancelReport(cancelRequestId, evidence);
    });
  }

  function gatewayNow(): number {
    if (gatewayTime === undefined) return clock.now();
    return gatewayTime.unixMs + clock.monotonic() - gatewayTime.monotonic;
  }

  function report(executionId: string, evidence: Evidence): void {
    const known = journal.execution(executionId);
    assert(known !== undefined, 'only what was submitted is reported');
    const occurredAt = toIsoTime(clock.now());
    outgoing.addReport({ type: 'report', executionId, ...evidence, occurredAt });
    flushSoon();
  }

  function cancelReport(cancelRequestId: string, evidence: CancelEvidence): void {
    const occurredAt = toIsoTime(clock.now());
    outgoing.addReport({ type: 'cancel_report', cancelRequestId, ...evidence, occurredAt });
    flushSoon();
  }

  function event(draft: TerminalEventDraft): boolean {
    const frame = frameOf(draft);
    // The `seq` that is still to come takes at most 24 more bytes.
    if (Buffer.byteLength(JSON.stringify(frame)) > frameBytesMax - 24) return false;
    if (!outgoing.addEvent(frame)) return false;
    flushSoon();
    return true;
  }

  function frameOf(draft: TerminalEventDraft): EventFrame {
    return { type: 'event', ...draft, occurredAt: toIsoTime(clock.now()) };
  }

  /** All that comes within one turn of the event loop shares one flush. */
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
      const reason = errorText(error);
      link.refuse({
        reason: 'journal_failed',
        message: `The journal cannot be written: ${reason}. Nothing is acknowledged that is not noted, so the terminal stops.`,
      });
      return;
    }
    if (link.isWelcomed) for (const frame of outgoing.takeUnsent()) link.send(frame);
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
    report,
    cancelReport,
    event,
  };
}
