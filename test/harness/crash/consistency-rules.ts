/**
 * Rules that compare the gateway's view of an execution with what its terminal received and reported.
 * Each phase is stricter than the one before: after the crash, what was confirmed must be in effect; at rest,
 * exactly what was reported; in the end, an outcome that matches it.
 */
import type { ExecutionRecord } from './execution-record.js';
import { attemptOf, isCancelOpen, type ExecutionView } from './request-history.js';
import { definitiveEnds } from '../../model/contract-states.js';

export type Phase = 'after the crash' | 'at rest' | 'in the end';
/** Statuses of an execution of which no report has arrived. */
const silentStatuses = ['queued', 'dispatched', 'submitted', 'unknown'];
const unsentStatuses = [...silentStatuses, 'expired', 'denied'];

interface Finding {
  readonly view: ExecutionView;
  readonly record: ExecutionRecord | undefined;
  /** The terminal received the submit. */
  readonly isDelivered: boolean;
  /** The newest cancel that was accepted. */
  readonly cancelRequestId: string | undefined;
  /** Unix ms from which on a stop covers the execution; Infinity if none does. */
  readonly stoppedAt: number;
  /** Whether a stop, or a cancel-all, may have denied the execution for this reason. */
  readonly mayDeny: (reason: string) => boolean;
  /** A cancel-all that matches the execution was sent after its acceptance, and confirmed. */
  readonly isInCancelAll: boolean;
  /** An answer listed the execution as denied. */
  readonly isDenied: boolean;
  /** A cancel may have been requested without an answer that names it. */
  readonly mayHaveNewerCancel: boolean;
  /** Its newest cancel waits for its terminal. */
  readonly isCancelWaiting: boolean;
}

type Rule = (finding: Finding) => boolean;

const always: Readonly<Record<string, Rule>> = {
  'what was confirmed is in effect': ({ view, record, isDelivered }) => {
    const possible = record?.possible.map(({ status }) => status) ?? [];
    const isSilent = record?.confirmed === undefined;
    const others = isSilent ? (isDelivered ? silentStatuses : unsentStatuses) : [];
    const hints = isSilent ? (record?.hints ?? []) : [];
    return [...possible, ...others, ...hints].includes(view.status);
  },
  'confirmed fills are there, each once, and no others': ({ view, record }) => {
    const ids = view.fills.map(({ fillId }) => fillId);
    const told = record?.last?.fillIds ?? [];
    const sum = view.fills.reduce((total, { quantity }) => total + quantity, 0);
    return (
      new Set(ids).size === ids.length &&
      ids.every((id) => told.includes(id)) &&
      (record?.confirmed?.fillIds ?? []).every((id) => ids.includes(id)) &&
      (view.filledQuantity ?? 0) === sum
    );
  },
  'what a terminal acknowledged for good is confirmed': ({ view, record }) =>
    record?.isConfirmed !== true || view.delivery === 'confirmed',
  'nothing leaves after a stop': ({ record, stoppedAt }) =>
    (record?.lastSubmitAt ?? -Infinity) <= stoppedAt,
  'a stop ends what has not left': ({ view, stoppedAt }) =>
    view.status !== 'queued' || stoppedAt === Infinity,
  'a denial has its reason': ({ view, mayDeny }) =>
    view.status !== 'denied' ||
    view.reasonCode === 'no_active_terminal' ||
    mayDeny(view.reasonCode ?? ''),
  'an accepted cancel is not forgotten': ({ view, cancelRequestId, mayHaveNewerCancel }) =>
    view.cancel?.cancelRequestId === cancelRequestId ||
    (mayHaveNewerCancel &&
      view.cancel !== null &&
      attemptOf(view.cancel.cancelRequestId) > attemptOf(cancelRequestId ?? '_0')),
  'a cancel of all orders ends each or cancels it': ({ view, isInCancelAll }) =>
    !isInCancelAll || definitiveEnds.includes(view.status) || view.cancel !== null,
  'a cancel by a switch has its switch': ({ view, mayDeny }) =>
    view.reasonCode !== 'cancel_after_expired' || mayDeny(view.reasonCode),
  'what an answer called denied is denied': ({ view, isDenied }) =>
    !isDenied || view.status === 'denied',
  'a cancel that waits is not given up': ({ view, isCancelWaiting }) =>
    !isCancelWaiting || view.cancel?.status !== 'not_sent',
};

const atRest: Readonly<Record<string, Rule>> = {
  'what a terminal got is not called unsent': ({ view, isDelivered }) =>
    !isDelivered || view.delivery !== 'not_sent',
  'the last word of the terminal is the state': ({ view, record }) =>
    record?.last === undefined ||
    (view.status === record.last.status &&
      view.fills.length === record.last.fillIds.length &&
      view.delivery === 'confirmed'),
  'a cancel leaves when its terminal is there': ({ view }) =>
    view.cancel?.status !== 'requested' || view.delivery !== 'confirmed',
  'the terminal’s word on a cancel counts': ({ view, record }) => {
    const { cancel, status } = view;
    const said = cancel === null ? undefined : record?.cancels.get(cancel.cancelRequestId)?.said;
    if (cancel === null || said === undefined || cancel.status === said) return true;
    // The order ended before the report on the cancel.
    return cancel.status === (status === 'cancelled' ? 'cancelled' : 'too_late');
  },
};

const inTheEnd: Readonly<Record<string, Rule>> = {
  'sent and never reported ends unknown': ({ view, record, isDelivered }) =>
    !isDelivered || record?.last !== undefined || view.status === 'unknown',
  'never sent ends expired or denied, perhaps sent ends unknown': ({ view, record, isDelivered }) =>
    isDelivered ||
    record?.last !== undefined ||
    (view.delivery === 'not_sent' && ['expired', 'denied'].includes(view.status)) ||
    (view.delivery === 'sent' && view.status === 'unknown'),
  'every cancel ends': ({ view }) => !isCancelOpen(view),
};

const rules: Readonly<Record<Phase, Readonly<Record<string, Rule>>>> = {
  'after the crash': always,
  'at rest': { ...always, ...atRest },
  'in the end': { ...always, ...atRest, ...inTheEnd },
};

/** @returns each rule of the phase with whether it holds. */
export function judge(phase: Phase, facts: Omit<Finding, 'isDelivered'>): [string, boolean][] {
  const isDelivered = (facts.record?.connections.size ?? 0) > 0;
  const finding = { ...facts, isDelivered };
  return Object.entries(rules[phase]).map(([rule, holds]) => [rule, holds(finding)]);
}

/** Whether the execution can no longer change while its terminal is idle. */
export function isAtItsEnd(view: ExecutionView, record: ExecutionRecord | undefined): boolean {
  if (isCancelOpen(view)) return false;
  if (definitiveEnds.includes(view.status) || view.status === 'unknown') return true;
  // The terminal reported it as working.
  return record?.last?.status === view.status;
}
