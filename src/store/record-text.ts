/**
 * How a record lies in the store: as JSON text. What each accepted signal adds is shorter than an object: a list of
 * the record's values in the order below. Its key is not repeated, and a member that is JSON text or long stands
 * behind the list, in a line of its own, as it is. In earlier versions these records were objects, which are read.
 *
 *   ["trend-7",1767225600000,…]\n{"instrument":"EURUSD",…}
 */
import type { Execution, IdempotencyRecord, SignalRequest } from '../model/records.js';
import type { Collection, KeyOf, RecordOf } from './key-layout.js';

/** Members are only ever added at the end of `optional`: what lies in a store has no names. */
interface Form<Member> {
  /** What the last part of the key says. */
  readonly key?: Member;
  readonly members: readonly Member[];
  /** Where such a member is absent, there is a null or nothing. */
  readonly optional: readonly Member[];
  /** A text. */
  readonly tail?: Member;
}

const execution: Form<keyof Execution> = {
  key: 'executionId',
  // oxfmt-ignore
  members: [
    'requestId', 'signalId', 'platform', 'instanceId', 'accountName', 'status', 'reasonCode', 'delivery',
    'orderRef', 'side', 'executionType', 'instrument', 'quantity', 'limitPrice', 'filledQuantity',
    'remainingQuantity', 'averageFillPrice', 'fills', 'native', 'createdAt', 'dispatchedAt', 'confirmedAt',
    'updatedAt', 'cancel', 'expiresAt', 'maySend',
  ],
  optional: ['keyId', 'fillRows', 'unlistedFills', 'cancelKeys'],
};

const request: Form<keyof SignalRequest> = {
  key: 'requestId',
  // oxfmt-ignore
  members: [
    'signalId', 'acceptedAt', 'ts', 'expiresAt', 'platform', 'type', 'cmd', 'instanceId', 'idempotencyKey',
    'executionCount', 'signalsToday',
  ],
  optional: ['keyId', 'traceId', 'clientAddress', 'accountName', 'undecidedFrom'],
  tail: 'payload',
};

const idempotencyRecord: Form<keyof IdempotencyRecord> = {
  members: ['fingerprint', 'requestId', 'expiresAt'],
  optional: [],
  tail: 'answer',
};

const forms: { readonly [C in Collection]?: Form<string> } = {
  requests: request,
  idempotency: idempotencyRecord,
  openExecutions: execution,
  finalExecutions: execution,
};

type Values = Record<string, unknown>;

export function textOfRecord<C extends Collection>(collection: C, record: RecordOf<C>): string {
  const form = forms[collection];
  if (form === undefined) return JSON.stringify(record);
  const { members, optional, tail } = form;
  const from = record as unknown as Values;
  const values: unknown[] = [];
  for (const member of members) values.push(from[member]);
  let count = optional.length;
  while (count > 0 && from[optional[count - 1] as string] === undefined) count--;
  for (let i = 0; i < count; i++) values.push(from[optional[i] as string]);
  const list = JSON.stringify(values);
  if (tail === undefined) return list;
  const rest = from[tail] as string;
  // UTF-8 has no lone surrogates; only an imported record can have one.
  return rest.isWellFormed() ? `${list}\n${rest}` : JSON.stringify(record);
}

export function recordOfText<C extends Collection>(
  collection: C,
  key: KeyOf<C>,
  text: string,
): RecordOf<C> {
  const form = forms[collection];
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
