/** Checks a message before the session takes it: header, times, form of its fields. */
import { fromFixTime } from './fix-time.js';
import { numberOf, valueOf, type ReceivedMessage } from './message.js';
import { groups, sections, tags, types } from './tags.js';

/** SessionRejectReason (373) and the words of the standard for it. */
// oxfmt-ignore
export const rejectReasons = {
  invalidTagNumber:    { code: 0,  text: 'Invalid tag number' },
  requiredTagMissing:  { code: 1,  text: 'Required tag missing' },
  tagWithoutValue:     { code: 4,  text: 'Tag specified without a value' },
  valueOutOfRange:     { code: 5,  text: 'Value is incorrect (out of range) for this tag' },
  wrongDataFormat:     { code: 6,  text: 'Incorrect data format for value' },
  compIdProblem:       { code: 9,  text: 'CompID problem' },
  sendingTimeProblem:  { code: 10, text: 'SendingTime accuracy problem' },
  invalidMsgType:      { code: 11, text: 'Invalid MsgType' },
  tagRepeated:         { code: 13, text: 'Tag appears more than once' },
  tagOutOfOrder:       { code: 14, text: 'Tag specified out of required order' },
  groupCountWrong:     { code: 16, text: 'Incorrect NumInGroup count for repeating group' },
} as const;

/** FIX 4.2 ends with it: a counterparty that judges by the standard would refuse a Reject with a higher one. */
const reasonCodeMax42 = 11;

/** @returns SessionRejectReason of a Reject; undefined if this version of FIX has none for the reason. */
export function reasonCodeOf(
  reason: keyof typeof rejectReasons,
  beginString: string,
): string | undefined {
  const { code } = rejectReasons[reason];
  return beginString === 'FIX.4.2' && code > reasonCodeMax42 ? undefined : `${code}`;
}

export interface Refusal {
  readonly reason: keyof typeof rejectReasons;
  readonly tag?: number;
  /** The session cannot go on: a logout follows. */
  readonly ends?: true;
}

export interface Names {
  readonly senderCompId: string;
  readonly targetCompId: string;
}

/** Most by which the counterparty's clock may differ from ours, as the standard recommends. */
const clockSkewMaxMs = 120_000;

/** Fields that a message must have, by its type; those of `numbers` must be whole numbers. */
// oxfmt-ignore
const required: Readonly<Record<string, { readonly fields?: readonly number[]; readonly numbers?: readonly number[] }>> = {
  [types.TestRequest]:       { fields: [tags.TestReqID] },
  [types.ResendRequest]:     { numbers: [tags.BeginSeqNo, tags.EndSeqNo] },
  [types.SequenceReset]:     { numbers: [tags.NewSeqNo] },
  [types.ExecutionReport]:   { fields: [tags.OrdStatus] },
  [types.OrderCancelReject]: { fields: [tags.ClOrdID] },
};

/**
 * @param connectedMs when the connection began: over a slow line a message may be as old as that, since it waits
 *   behind others.
 * @returns the refusal of a header whose CompIDs or SendingTime are wrong.
 */
export function headerRefusal(
  message: ReceivedMessage,
  { senderCompId, targetCompId }: Names,
  nowMs: number,
  connectedMs: number,
): Refusal | undefined {
  const isOurs =
    valueOf(message, tags.SenderCompID) === targetCompId &&
    valueOf(message, tags.TargetCompID) === senderCompId;
  if (!isOurs) return { reason: 'compIdProblem', ends: true };
  const sendingTime = valueOf(message, tags.SendingTime);
  if (sendingTime === undefined) return { reason: 'requiredTagMissing', tag: tags.SendingTime };
  const sentAt = fromFixTime(sendingTime);
  if (sentAt === undefined) return { reason: 'wrongDataFormat', tag: tags.SendingTime };
  // Our clock may have gone back since.
  const oldest = Math.min(connectedMs, nowMs) - clockSkewMaxMs;
  const isNear = sentAt >= oldest && sentAt <= nowMs + clockSkewMaxMs;
  return isNear ? undefined : { reason: 'sendingTimeProblem', ends: true };
}

/** Messages of the session itself. */
function isAdmin(type: string): boolean {
  return /^[0-5A]$/.test(type);
}

/** Fields that must be Y or N. */
const flags: readonly number[] = [
  tags.PossDupFlag,
  tags.PossResend,
  tags.GapFillFlag,
  tags.ResetSeqNumFlag,
];

/** Fields that decide what a report says: if a report has one twice, it is not clear which one is meant. */
const decisive: readonly number[] = [
  tags.ClOrdID,
  tags.OrdStatus,
  tags.ExecID,
  tags.ExecType,
  tags.CumQty,
  tags.LeavesQty,
  tags.AvgPx,
  tags.LastQty,
  tags.LastPx,
];

/**
 * @returns what is wrong with the body, as far as this side reads it: a venue may have fields, values and types of
 * its own. Checks every field of the session's messages, but only the decisive ones of a report, because an empty
 * text must not cost a fill.
 */
export function bodyRefusal(message: ReceivedMessage): Refusal | undefined {
  // Two sides that refuse each other's refusals would never end.
  if (message.type === types.Reject) return undefined;
  if (!/^[0-9A-Za-z]{1,4}$/.test(message.type)) return { reason: 'invalidMsgType' };
  const misformed = isAdmin(message.type) ? adminRefusal(message) : repeated(message, decisive);
  if (misformed !== undefined) return misformed;
  const { fields = [], numbers = [] } = required[message.type] ?? {};
  const missing = [...fields, ...numbers].find((tag) => valueOf(message, tag) === undefined);
  if (missing !== undefined) return { reason: 'requiredTagMissing', tag: missing };
  const unreadable = numbers.find((tag) => numberOf(message, tag) === undefined);
  if (unreadable !== undefined) return { reason: 'wrongDataFormat', tag: unreadable };
  return undefined;
}

function adminRefusal(message: ReceivedMessage): Refusal | undefined {
  const all = message.fields.map(([tag]) => tag);
  const below = all.find((tag) => tag <= 0);
  if (below !== undefined) return { reason: 'invalidTagNumber', tag: below };
  const empty = message.fields.find(([, value]) => value === '');
  if (empty !== undefined) return { reason: 'tagWithoutValue', tag: empty[0] };
  let section = 0;
  for (const tag of all) {
    const its = sectionOf(tag) ?? section;
    if (its < section) return { reason: 'tagOutOfOrder', tag };
    section = its;
  }
  const members = [...groups.values()].flat();
  const twice = repeated(
    message,
    all.filter((tag) => !members.includes(tag)),
  );
  if (twice !== undefined) return twice;
  for (const [count, [first]] of groups) {
    const entries = all.filter((tag) => tag === first).length;
    if ((numberOf(message, count) ?? 0) !== entries)
      return { reason: 'groupCountWrong', tag: count };
  }
  const wrong = message.fields.find(([tag, value]) => flags.includes(tag) && !/^[YN]$/.test(value));
  return wrong === undefined ? undefined : { reason: 'valueOutOfRange', tag: wrong[0] };
}

function repeated(message: ReceivedMessage, among: readonly number[]): Refusal | undefined {
  const seen = new Set<number>();
  for (const [tag] of message.fields) {
    if (seen.has(tag) && among.includes(tag)) return { reason: 'tagRepeated', tag };
    seen.add(tag);
  }
  return undefined;
}

const order = [sections.header, sections.body, sections.trailer] as readonly (readonly number[])[];

/** Undefined for a field that is the venue's own. */
function sectionOf(tag: number): number | undefined {
  const at = order.findIndex((section) => section.includes(tag));
  return at === -1 ? undefined : at;
}

/** @returns what is wrong with a repetition: OrigSendingTime must be there, and not after SendingTime. */
export function repetitionRefusal(message: ReceivedMessage): Refusal | undefined {
  const tag = tags.OrigSendingTime;
  const first = valueOf(message, tag);
  if (first === undefined) return { reason: 'requiredTagMissing', tag };
  const firstAt = fromFixTime(first);
  if (firstAt === undefined) return { reason: 'wrongDataFormat', tag };
  const sentAt = fromFixTime(valueOf(message, tags.SendingTime) ?? '') ?? firstAt;
  return firstAt > sentAt ? { reason: 'sendingTimeProblem', ends: true } : undefined;
}
