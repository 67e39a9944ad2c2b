/**
 * Rules that compare the gateway's view of an execution with what its terminal received and reported.
 * The longer nothing can happen, the stricter: after the crash what was confirmed must be in effect, at
 * rest exactly what was reported, in the end a matching outcome.
 */
import type { ExecutionRecord } from './execution-record.js';
import { isCancelOpen, type ExecutionView } from './request-history.js';
import { definitiveEnds } from './state-tables.js';

export type Phase = 'after the crash' | 'at rest' | 'in the end';
/** Of an execution without a report that has arrived. */
const silentStatuses = ['queued', 'dispatched', 'submitted', 'unknown'];
const unsentStatuses = [...silentStatuses, 'expired', 'denied'];

interface Finding {
  readonly view: ExecutionView;
  readonly record: ExecutionRecord | undefined;
  /** The terminal received the submit. */
  readonly isDelivered: boolean;
  /** The newest cancel that was accepted. */
  readonly cancelRequestId: string | undefined;
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
  'an accepted cancel is not forgotten': ({ view, cancelRequestId }) =>
    view.cancel?.cancelRequestId === cancelRequestId,
};

const atRest: Readonly<Record<string, Rule>> = {
  'what a terminal got is not called unsent': ({ view, isDelivered }) =>
    !isDelivered || view.delivery !== 'not_sent',
  'the last word of the terminal is the state': ({ view, record }) =>
    record?.last === undefined ||
    (view.status === record.last.status &&
      view.fills.length === record.last.fillIds.length &&
      view.delivery === 'confirmed'),
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
export function judge(
  phase: Phase,
  view: ExecutionView,
  record: ExecutionRecord | undefined,
  cancelRequestId: string | undefined,
): [string, boolean][] {
  const isDelivered = (record?.connections.size ?? 0) > 0;
  const finding = { view, record, isDelivered, cancelRequestId };
  return Object.entries(rules[phase]).map(([rule, holds]) => [rule, holds(finding)]);
}

/** Whether the execution can no longer change while its terminal is idle. */
export function isAtItsEnd(view: ExecutionView, record: ExecutionRecord | undefined): boolean {
  if (isCancelOpen(view)) return false;
  if (definitiveEnds.includes(view.status) || view.status === 'unknown') return true;
  // The terminal reported it as working.
  return record?.last?.status === view.status;
}
