/**
 * How a record is stored: as JSON text. Records that each accepted signal adds are shorter than objects: a list
 * of their values in the order below. The key is not repeated, and a member that is JSON text or long follows
 * the list unchanged, in a line of its own. Earlier versions wrote these records as objects, which are read, too.
 *
 *   ["trend-7",1767225600000,…]\n{"instrument":"EURUSD",…}
 */
import { TextBytes } from '../lib/text-bytes.js';
import type { Execution } from '../model/execution.js';
import type { IdempotencyRecord, SignalRequest } from '../model/records.js';
import type { Collection, KeyOf, RecordOf } from './key-layout.js';

/** New members are added only at the end of `optional`, since stored values have no names. */
interface Form<R, Member extends keyof R = keyof R> {
  /** The member that is the last part of the key. */
  readonly key?: Member;
  readonly members: readonly Member[];
  /** Members that may be absent: then null is stored, or the list ends before. */
  readonly optional: readonly Member[];
  /** The values of `members` and `optional` in order. Looking each up by its name would double the time to write. */
  readonly values: (record: R) => unknown[];
  /** The member that follows the list; a text. */
  readonly tail?: Member;
}

const execution: Form<Execution> = {
  key: 'executionId',
  // oxfmt-ignore
  members: [
    'requestId', 'signalId', 'platform', 'instanceId', 'accountName', 'status', 'reasonCode', 'delivery',
    'orderRef', 'side', 'executionType', 'instrument', 'quantity', 'limitPrice', 'filledQuantity',
    'remainingQuantity', 'averageFillPrice', 'fills', 'native', 'createdAt', 'dispatchedAt', 'confirmedAt',
    'updatedAt', 'cancel', 'expiresAt', 'maySend',
  ],
  optional: ['keyId', 'fillRows', 'unlistedFills', 'cancelKeys'],
  // oxfmt-ignore
  values: (of) => [
    of.requestId, of.signalId, of.platform, of.instanceId, of.accountName, of.status, of.reasonCode,
    of.delivery, of.orderRef, of.side, of.executionType, of.instrument, of.quantity, of.limitPrice,
    of.filledQuantity, of.remainingQuantity, of.averageFillPrice, of.fills, of.native, of.createdAt,
    of.dispatchedAt, of.confirmedAt, of.updatedAt, of.cancel, of.expiresAt, of.maySend, of.keyId, of.fillRows,
    of.unlistedFills, of.cancelKeys,
  ],
};

const request: Form<SignalRequest> = {
  key: 'requestId',
  // oxfmt-ignore
  members: [
    'signalId', 'acceptedAt', 'ts', 'expiresAt', 'platform', 'type', 'cmd', 'instanceId', 'idempotencyKey',
    'executionCount', 'signalsToday',
  ],
  optional: ['keyId', 'traceId', 'clientAddress', 'accountName', 'undecidedFrom'],
  // oxfmt-ignore
  values: (of) => [
    of.signalId, of.acceptedAt, of.ts, of.expiresAt, of.platform, of.type, of.cmd, of.instanceId,
    of.idempotencyKey, of.executionCount, of.signalsToday, of.keyId, of.traceId, of.clientAddress,
    of.accountName, of.undecidedFrom,
  ],
  tail: 'payload',
};

const idempotencyRecord: Form<IdempotencyRecord> = {
  members: ['fingerprint', 'requestId', 'expiresAt'],
  optional: [],
  values: (of) => [of.fingerprint, of.requestId, of.expiresAt],
  tail: 'answer',
};

const forms: { readonly [C in Collection]?: Form<RecordOf<C>> } = {
  requests: request,
  idempotency: idempotencyRecord,
  openExecutions: execution,
  finalExecutions: execution,
};

type Values = Record<string, unknown>;
type AnyForm = Form<Values> | undefined;

const bytes = new TextBytes();
const newLine = 0x0a;

/** @returns the text as bytes, valid until the next call. */
export function bytesOfRecord<C extends Collection>(
  collection: C,
  record: RecordOf<C>,
): Uint8Array {
  const form = forms[collection] as AnyForm;
  bytes.begin();
  if (form === undefined) return bytes.value(record).take();
  const { members, values, tail } = form;
  const list = values(record as unknown as Values);
  while (list.length > members.length && list.at(-1) === undefined) list.pop();
  if (tail === undefined) return bytes.list(list).take();
  const rest = (record as unknown as Values)[tail] as string;
  // UTF-8 has no lone surrogates; only an imported record can have one.
  if (!rest.isWellFormed()) return bytes.value(record).take();
  return bytes.list(list).byte(newLine).text(rest).take();
}

export function textOfRecord<C extends Collection>(collection: C, record: RecordOf<C>): string {
  const { buffer, byteOffset, length } = bytesOfRecord(collection, record);
  return Buffer.from(buffer, byteOffset, length).toString();
}

export function recordOfText<C extends Collection>(
  collection: C,
  key: KeyOf<C>,
  text: string,
): RecordOf<C> {
  const form = forms[collection] as AnyForm;
  if (form === undefined || text.startsWith('{')) return JSON.parse(text) as RecordOf<C>;
  const { members, optional, tail } = form;
  const record: Values = {};
  if (form.key !== undefined) record[form.key] = (key as readonly unknown[]).at(-1);
  const end = tail === undefined ? text.length : text.indexOf('\n');
  const values = JSON.parse(text.slice(0, end)) as unknown[];
  for (let i = 0; i < members.length; i++) record[members[i] as string] = values[i];
  for (let i = members.length; i < values.length; i++) {
    const value = values[i];
    if (value !== null) record[optional[i - members.length] as string] = value;
  }
  if (tail !== undefined) record[tail] = text.slice(end + 1);
  return record as unknown as RecordOf<C>;
}
