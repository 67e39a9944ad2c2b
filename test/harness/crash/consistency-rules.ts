/**
 * Holds what the gateway says of an execution against what its terminal saw and said. The longer
 * nothing more can happen, the more must be true: after a crash at the least what was confirmed, at
 * rest exactly what was said, in the end an outcome that fits.
 */
import type { Account } from './execution-record.js';
import { isCancelOpen, type ExecutionView } from './request-history.js';
import { definitiveEnds } from './state-tables.js';

export type Moment = 'after the crash' | 'at rest' | 'in the end';
/** Of an execution that the terminal has said nothing of, or nothing that has arrived. */
const silentStatuses = ['queued', 'dispatched', 'submitted', 'unknown'];
const unsentStatuses = [...silentStatuses, 'expired', 'denied'];

interface Finding {
  readonly view: ExecutionView;
  readonly account: Account | undefined;
  /** The terminal got the submit. */
  readonly isDelivered: boolean;
  /** The newest cancel that was accepted. */
  readonly cancelRequestId: string | undefined;
}

type Rule = (finding: Finding) => boolean;

const always: Readonly<Record<string, Rule>> = {
  'what was confirmed is in effect': ({ view, account, isDelivered }) => {
    const possible = account?.possible.map(({ status }) => status) ?? [];
    const isSilent = account?.confirmed === undefined;
    const others = isSilent ? (isDelivered ? silentStatuses : unsentStatuses) : [];
    const hints = isSilent ? (account?.hints ?? []) : [];
    return [...possible, ...others, ...hints].includes(view.status);
  },
  'confirmed fills are there, each once, and no others': ({ view, account }) => {
    const ids = view.fills.map(({ fillId }) => fillId);
    const told = account?.last?.fillIds ?? [];
    const sum = view.fills.reduce((total, { quantity }) => total + quantity, 0);
    return (
      new Set(ids).size === ids.length &&
      ids.every((id) => told.includes(id)) &&
      (account?.confirmed?.fillIds ?? []).every((id) => ids.includes(id)) &&
      (view.filledQuantity ?? 0) === sum
    );
  },
  'what a terminal acknowledged for good is confirmed': ({ view, account }) =>
    account?.isConfirmed !== true || view.delivery === 'confirmed',
  'an accepted cancel is not forgotten': ({ view, cancelRequestId }) =>
    view.cancel?.cancelRequestId === cancelRequestId,
};

const atRest: Readonly<Record<string, Rule>> = {
  'what a terminal got is not called unsent': ({ view, isDelivered }) =>
    !isDelivered || view.delivery !== 'not_sent',
  'the last word of the terminal is the state': ({ view, account }) =>
    account?.last === undefined ||
    (view.status === account.last.status &&
      view.fills.length === account.last.fillIds.length &&
      view.delivery === 'confirmed'),
  'the terminal’s word on a cancel counts': ({ view, account }) => {
    const { cancel, status } = view;
    const said = cancel === null ? undefined : account?.cancels.get(cancel.cancelRequestId)?.said;
    if (cancel === null || said === undefined || cancel.status === said) return true;
    // The order's own end came first.
    return cancel.status === (status === 'cancelled' ? 'cancelled' : 'too_late');
  },
};

const inTheEnd: Readonly<Record<string, Rule>> = {
  'sent and never reported ends unknown': ({ view, account, isDelivered }) =>
    !isDelivered || account?.last !== undefined || view.status === 'unknown',
  'never sent ends expired or denied, perhaps sent ends unknown': ({
    view,
    account,
    isDelivered,
  }) =>
    isDelivered ||
    account?.last !== undefined ||
    (view.delivery === 'not_sent' && ['expired', 'denied'].includes(view.status)) ||
    (view.delivery === 'sent' && view.status === 'unknown'),
  'every cancel ends': ({ view }) => !isCancelOpen(view),
};

const rules: Readonly<Record<Moment, Readonly<Record<string, Rule>>>> = {
  'after the crash': always,
  'at rest': { ...always, ...atRest },
  'in the end': { ...always, ...atRest, ...inTheEnd },
};

/** @returns each rule of the moment with whether it holds. */
export function judge(
  moment: Moment,
  view: ExecutionView,
  account: Account | undefined,
  cancelRequestId: string | undefined,
): [string, boolean][] {
  const isDelivered = (account?.connections.size ?? 0) > 0;
  const finding = { view, account, isDelivered, cancelRequestId };
  return Object.entries(rules[moment]).map(([rule, holds]) => [rule, holds(finding)]);
}

/** Whether nothing more can happen to it by itself, once its terminal is at rest. */
export function isAtItsEnd(view: ExecutionView, account: Account | undefined): boolean {
  if (isCancelOpen(view)) return false;
  if (definitiveEnds.includes(view.status) || view.status === 'unknown') return true;
  // It rests at its terminal, and the terminal said so.
  return account?.last?.status === view.status;
}
