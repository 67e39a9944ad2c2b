/**
 * The relations between the records of a store: one rule for each collection. A rule returns undefined for a
 * correct record, else what is wrong with it, in words that follow the record's name.
 */
import { emailKey } from '../auth/email.js';
import { executionIdOf, isRequestId } from '../lib/ids.js';
import { type Execution, isSettled } from '../model/execution.js';
import { type Collection, type KeyOf, type RecordOf } from '../store/key-layout.js';
import type { Reader } from '../store/store.js';

type Rule<C extends Collection> = (
  reader: Reader,
  key: KeyOf<C>,
  record: RecordOf<C>,
) => string | undefined;

const anything = (): undefined => undefined;

export const rules: { readonly [C in Collection]: Rule<C> } = {
  meta: anything,
  users: (reader, userId, user) =>
    first([
      [user.userId === userId, 'names another user'],
      [reader.get('emails', emailKey(user.email)) === userId, 'is not found by its email'],
    ]),
  emails: (reader, email, userId) => {
    const user = reader.get('users', userId);
    return user !== undefined && emailKey(user.email) === email
      ? undefined
      : 'leads to no user with this email';
  },
  apiKeys: (reader, hash, { userId, id, revokedAt }) => {
    const indexed = reader.get('apiKeyHashes', [userId, revokedAt === null ? id : -id]);
    return first([
      [reader.get('users', userId) !== undefined, 'belongs to no user'],
      [indexed === hash, 'is missing in its user’s list'],
    ]);
  },
  apiKeyHashes: (reader, [userId, id], hash) => {
    const key = reader.get('apiKeys', hash);
    const isIts = key?.userId === userId && key.id === Math.abs(id);
    return isIts && (key.revokedAt === null) === id > 0 ? undefined : 'leads to no such API key';
  },
  apiKeyUses: anything,
  // A deleted user's sessions stay until they expire.
  sessions: anything,
  switches: anything,
  idempotency: (reader, [userId], { requestId }) =>
    isRequestId(requestId) && reader.get('requests', [userId, requestId]) === undefined
      ? `leads to ${requestId}, which is missing`
      : undefined,
  signalIds: (reader, [userId, signalId], requestId) =>
    reader.get('requests', [userId, requestId])?.signalId === signalId
      ? undefined
      : `leads to ${requestId}, which is missing or another signal`,
  requests: (reader, [userId, requestId], request) => {
    const ids = Array.from({ length: request.executionCount }, (_, i) =>
      executionIdOf(requestId, i),
    );
    return first([
      [request.requestId === requestId, 'names another request'],
      [
        reader.get('signalIds', [userId, request.signalId]) === requestId,
        'is not found by its signalId',
      ],
      ...ids.map((id): [boolean, string] => [placesOf(reader, userId, id) === 1, `lacks ${id}`]),
    ]);
  },
  openExecutions: (reader, [userId, executionId], execution) =>
    executionRule(reader, userId, executionId, execution, false),
  finalExecutions: (reader, [userId, executionId], execution) =>
    executionRule(reader, userId, executionId, execution, true),
  fills: (reader, [userId, executionId]) =>
    placesOf(reader, userId, executionId) > 0 ? undefined : 'belongs to no execution',
  unknownOrders: (reader, [userId, executionId]) => {
    const execution = reader.get('finalExecutions', [userId, executionId]);
    return execution?.status === 'unknown' ? undefined : 'is not an unknown execution';
  },
  cancelKeys: anything,
  cancelAlls: anything,
  cancelAfters: anything,
  sources: (_reader, key, { platform, instanceId, accountName }) =>
    key[1] === platform && key[2] === instanceId && key[3] === accountName
      ? undefined
      : 'names another terminal',
};

function executionRule(
  reader: Reader,
  userId: string,
  executionId: string,
  execution: Execution,
  isAmongFinal: boolean,
): string | undefined {
  const { requestId } = execution;
  return first([
    [execution.executionId === executionId, 'names another execution'],
    [
      isSettled(execution) === isAmongFinal,
      `is ${execution.status}, but stored in the wrong collection`,
    ],
    [placesOf(reader, userId, executionId) === 1, 'is stored twice, as open and as final'],
    [
      reader.get('requests', [userId, requestId]) !== undefined,
      `belongs to ${requestId}, which is missing`,
    ],
  ]);
}

function placesOf(reader: Reader, userId: string, executionId: string): number {
  const key: [string, string] = [userId, executionId];
  const places = [reader.get('openExecutions', key), reader.get('finalExecutions', key)];
  return places.filter((place) => place !== undefined).length;
}

function first(expectations: readonly (readonly [boolean, string])[]): string | undefined {
  return expectations.find(([holds]) => !holds)?.[1];
}
