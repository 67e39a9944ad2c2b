/**
 * Rules for the rows of an exported user: the hash in a file's last line proves that the file is whole, not who has
 * written it. The store does not judge the records that it returns: a time that is no number, or an unknown status,
 * would harm the gateway for as long as it is stored. A member without a schema may be of a later version.
 */
import Type, { type TSchema, type TUnsafe } from 'typebox';
import { emailForm, emailKey, emailLengthMax } from '../auth/email.js';
import { keyLimitsSchema } from '../auth/key-limits.js';
import { passwordHashForm } from '../auth/password.js';
import { executionIdFrom, isRequestId } from '../lib/ids.js';
import { numberOrNull, oneOf, orNull, textOrNull } from '../lib/json-types.js';
import { compileSchema, compileSchemas } from '../lib/schema.js';
import { limits } from '../limits.js';
import {
  cancelCauses,
  type Cancellation,
  cancelStates,
  type CancelStatus,
} from '../model/cancellation.js';
import {
  deliveries,
  type Execution,
  executionStates,
  type ExecutionStatus,
  type Fill,
  type NativeState,
  type UnlistedFills,
} from '../model/execution.js';
import { reasonCodes } from '../model/reason-codes.js';
import {
  type ApiKey,
  type CancelAllRecord,
  capabilities,
  type IdempotencyRecord,
  type Session,
  type SignalRequest,
  type SourceRecord,
  type User,
} from '../model/records.js';
import { scopes } from '../model/scopes.js';
import type { Trail } from '../model/trail.js';
import { keyFits } from '../store/key-encoding.js';
import { collectionTraits, type RecordOf } from '../store/key-layout.js';
import type { ExportedCollection, UserFileHead, UserRow } from './user-file.js';

/** The largest number of which a date can be made. */
const timeMax = 8_640_000_000_000_000;

/** A longer one would make keys that the store does not take, and retention, which looks them up, would fail. */
const userIdLengthMax = 64;
/** Each read of a request looks up all of its executions in one turn, in which no one else is served. */
const executionsMax = limits.executionsPerSignal.max;

const text = Type.String();
const email = Type.String({ maxLength: emailLengthMax, pattern: emailForm.source });
const flag = Type.Boolean();
const number = Type.Number();
const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
const time = Type.Integer({ minimum: 0, maximum: timeMax });
const timeOrNull = orNull(time);
const texts = Type.Array(text);
const reasonOrNull = Type.Union([oneOf(reasonCodes), Type.Null()]);

/** A schema for an object with each member of the record's type. */
function schemaOf<R>(members: { readonly [M in keyof R]-?: TSchema }): TUnsafe<R> {
  return Type.Unsafe<R>(Type.Object(members));
}

const trail = {
  keyId: Type.Optional(id),
  traceId: Type.Optional(text),
  clientAddress: Type.Optional(text),
};

const fill = schemaOf<Fill>({ fillId: text, price: number, quantity: number, filledAt: text });

/** JSON has no infinity: a sum that overflowed is stored as null. */
const unlistedFills = schemaOf<UnlistedFills>({
  count,
  quantity: numberOrNull,
  value: numberOrNull,
  lastIds: texts,
});

const native = schemaOf<NativeState>({
  orderId: textOrNull,
  state: textOrNull,
  code: Type.Union([text, number, Type.Null()]),
  text: textOrNull,
});

const cancel = schemaOf<Cancellation>({
  ...trail,
  cancelRequestId: text,
  attempt: id,
  status: oneOf(Object.keys(cancelStates) as CancelStatus[]),
  reasonCode: reasonOrNull,
  requestedAt: time,
  dispatchedAt: timeOrNull,
  updatedAt: time,
  acknowledged: flag,
  cause: Type.Optional(oneOf(cancelCauses)),
  waitsUntil: Type.Optional(time),
});

const execution = schemaOf<Execution>({
  executionId: text,
  requestId: text,
  signalId: text,
  platform: text,
  instanceId: textOrNull,
  accountName: textOrNull,
  status: oneOf(Object.keys(executionStates) as ExecutionStatus[]),
  reasonCode: reasonOrNull,
  delivery: oneOf(deliveries),
  orderRef: textOrNull,
  side: textOrNull,
  executionType: textOrNull,
  instrument: textOrNull,
  quantity: numberOrNull,
  limitPrice: numberOrNull,
  filledQuantity: numberOrNull,
  remainingQuantity: numberOrNull,
  averageFillPrice: numberOrNull,
  fills: Type.Array(fill),
  unlistedFills: Type.Optional(unlistedFills),
  fillRows: Type.Optional(count),
  native: orNull(native),
  createdAt: time,
  dispatchedAt: timeOrNull,
  confirmedAt: timeOrNull,
  updatedAt: time,
  cancel: orNull(cancel),
  cancelKeys: Type.Optional(texts),
  keyId: Type.Optional(id),
  expiresAt: time,
  maySend: flag,
});

const schemas: Readonly<Record<ExportedCollection, TSchema>> = {
  requests: schemaOf<SignalRequest>({
    ...trail,
    requestId: text,
    signalId: text,
    acceptedAt: time,
    ts: time,
    expiresAt: time,
    platform: text,
    type: text,
    cmd: text,
    instanceId: textOrNull,
    accountName: Type.Optional(text),
    payload: text,
    idempotencyKey: text,
    executionCount: Type.Integer({ minimum: 0, maximum: executionsMax }),
    signalsToday: count,
    undecidedFrom: Type.Optional(text),
  }),
  signalIds: text,
  idempotency: schemaOf<IdempotencyRecord>({
    fingerprint: text,
    requestId: text,
    answer: text,
    expiresAt: time,
  }),
  cancelKeys: text,
  cancelAlls: schemaOf<CancelAllRecord>({
    cause: oneOf(cancelCauses),
    requestedAt: time,
    trail: schemaOf<Trail>(trail),
    orders: texts,
  }),
  openExecutions: execution,
  finalExecutions: execution,
  fills: fill,
  unknownOrders: time,
  sources: schemaOf<SourceRecord>({
    platform: text,
    instanceId: text,
    accountName: text,
    capabilities: Type.Array(oneOf(capabilities)),
    software: schemaOf<SourceRecord['software']>({ name: text, version: text }),
    lastSeq: count,
    lastSeenAt: time,
  }),
  users: schemaOf<User>({
    userId: text,
    email,
    plan: text,
    passwordHash: Type.String({ pattern: passwordHashForm.source }),
    confirmed: flag,
    frozen: flag,
    tokenGeneration: count,
    sessionGeneration: count,
    createdAt: time,
    moving: Type.Optional(schemaOf<NonNullable<User['moving']>>({ frozen: flag, confirmed: flag })),
  }),
  apiKeys: schemaOf<ApiKey>({
    id,
    userId: text,
    name: text,
    displayPrefix: text,
    scopes: Type.Array(oneOf(scopes)),
    createdAt: time,
    expiresAt: timeOrNull,
    revokedAt: timeOrNull,
    limits: Type.Optional(orNull(keyLimitsSchema)),
  }),
  apiKeyUses: time,
  sessions: schemaOf<Session>({
    userId: text,
    generation: count,
    createdAt: time,
    expiresAt: time,
  }),
};

type Judge<C extends ExportedCollection> = (
  key: readonly string[],
  record: RecordOf<C>,
  head: UserFileHead,
) => boolean;

/** Whether the record belongs to its key: the ids in the record are those of the key, or of the head. */
const judges: { readonly [C in ExportedCollection]?: Judge<C> } = {
  requests: ([, requestId], record) =>
    isRequestId(record.requestId) && record.requestId === requestId,
  signalIds: (_key, requestId) => isRequestId(requestId),
  openExecutions: isExecution,
  finalExecutions: isExecution,
  sources: ([, ...name], { platform, instanceId, accountName }) =>
    name[0] === platform && name[1] === instanceId && name[2] === accountName,
  // Of the plans, the head's is the one that was found among those of this gateway.
  users: ([key], { userId, email, plan }, head) =>
    key === head.userId &&
    userId === head.userId &&
    emailKey(email) === emailKey(head.email) &&
    plan === head.plan,
  apiKeys: (_key, { userId }, head) => userId === head.userId,
  sessions: (_key, { userId }, head) => userId === head.userId,
};

function isExecution([, key]: readonly string[], { executionId, requestId }: Execution): boolean {
  return (
    executionId === key && executionIdFrom(executionId) === executionId && isRequestId(requestId)
  );
}

/** Number of parts of keys that begin with the userId, where it is not two. */
const keyParts: { readonly [C in ExportedCollection]?: number } = { fills: 3, sources: 4 };

/** Whether a file's first line is what it says: to be asked before anything of it is used or shown. */
export const isUserFileHead = compileSchema(
  schemaOf<UserFileHead>({
    userId: Type.String({ maxLength: userIdLengthMax }),
    email,
    plan: text,
    exportedAt: time,
    isMove: flag,
  }),
);
const isRecord = compileSchemas(schemas);

/** The head names a user whose record the file does not have. */
const headLine = 1;

/**
 * @param rows all of the file, as they were read.
 * @returns the ids of the user's keys; or the number of the first line, from 1, that is not what the file of this user
 * may hold.
 */
export function judgeRows(
  head: UserFileHead,
  rows: Iterable<UserRow>,
): { readonly keyIds: readonly number[] } | { readonly invalidLine: number } {
  let line = 1;
  let hasUser = false;
  const keyIds = new Set<number>();
  for (const row of rows) {
    line++;
    if (!isRowOf(head, row)) return { invalidLine: line };
    if (row.collection === 'users') hasUser = true;
    if (row.collection === 'apiKeys') keyIds.add(row.record.id);
  }
  // Without it the email would be taken here by nobody, whom no command finds.
  return hasUser ? { keyIds: [...keyIds] } : { invalidLine: headLine };
}

function isRowOf(head: UserFileHead, row: unknown): boolean {
  const { collection, key, record } = (row ?? {}) as Partial<Record<string, unknown>>;
  if (typeof collection !== 'string' || isRecord(collection, record) !== true) return false;
  const name = collection as ExportedCollection;
  if (!isKey(name, key, head)) return false;
  const judge = judges[name] as Judge<ExportedCollection> | undefined;
  const parts = (Array.isArray(key) ? key : [key]) as readonly string[];
  return judge?.(parts, record as RecordOf<ExportedCollection>, head) ?? true;
}

function isKey(collection: ExportedCollection, key: unknown, { userId }: UserFileHead): boolean {
  if (collection === 'apiKeyUses') return Number.isSafeInteger(key) && (key as number) > 0;
  if (!collectionTraits[collection].ownedByKey) return typeof key === 'string' && keyFits(key);
  if (!Array.isArray(key) || key[0] !== userId) return false;
  return (
    key.length === (keyParts[collection] ?? 2) &&
    key.every((part) => typeof part === 'string') &&
    keyFits(key)
  );
}
