/** Operations that read signals: a list of the newest, and one with all that is known of it. */
import { findUser } from '../auth/accounts.js';
import { executionIdOf } from '../lib/ids.js';
import { picked } from '../lib/picked.js';
import { stepByTurns } from '../lib/turn.js';
import { isCompleted, type Execution } from '../model/execution.js';
import type { SignalRequest, User } from '../model/records.js';
import { newestRequestIds } from '../signals/newest-requests.js';
import type { ShownExecution } from '../signals/signal-view.js';
import { firstFills, listedFills, recordOf } from '../signals/stored-execution.js';
import type { Reader } from '../store/store.js';
import { walk } from '../store/walk.js';
import { userNotFound } from './account-operations.js';
import { type Operations, pause } from './operation.js';
import type { signalFilters } from './signal-filters.js';

type Filter = (typeof signalFilters)[number];

interface Wanted {
  readonly isMeant: (executions: readonly Execution[]) => boolean;
  /** Where its executions lie, or its requests. */
  readonly collections: readonly Parameters<typeof newestRequestIds>[2][];
}

const wanted: Readonly<Record<Filter | 'all', Wanted>> = {
  open: {
    isMeant: (executions) => !isCompleted(executions),
    collections: ['openExecutions'],
  },
  unknown: {
    isMeant: (executions) => executions.some(({ status }) => status === 'unknown'),
    // In this order: an execution that becomes unknown meanwhile moves from one to the other.
    collections: ['openExecutions', 'unknownOrders'],
  },
  completed: { isMeant: isCompleted, collections: ['requests'] },
  all: { isMeant: () => true, collections: ['requests'] },
};

const listedMembers = [
  'requestId',
  'signalId',
  'acceptedAt',
  'platform',
  'type',
  'cmd',
  'keyId',
  'clientAddress',
  'traceId',
] as const satisfies readonly (keyof SignalRequest)[];

/** What the list has of an execution. The terminals' texts of all of a signal's could be longer than a line may be. */
const listedOfExecution = [
  'executionId',
  'orderRef',
  'status',
  'reasonCode',
  'platform',
  'instanceId',
  'accountName',
  'side',
  'instrument',
  'quantity',
] as const satisfies readonly (keyof Execution)[];

type ListedExecution = Pick<Execution, (typeof listedOfExecution)[number]> & {
  readonly nativeOrderId: string | null;
};

/** One line of the list. */
export interface ListedSignal extends Pick<SignalRequest, (typeof listedMembers)[number]> {
  readonly email: string;
  readonly userId: string;
  readonly executions: readonly ListedExecution[];
}

/** Requests that are read in one turn of the event loop, and users without one. */
const requestsPerTurn = 16;
/** So that an execution fits into a line of the protocol. */
const shownFillsMax = 1_000;
/** So that they fit into a line of the protocol, whatever their names. */
const executionsPerRow = 64;

export const signalOperations = {
  'signal.list': {
    hasRows: true,
    async run({ store }, { email, status, limit }, rows) {
      const user = email === undefined ? undefined : findUser(store, email);
      if (email !== undefined && user === undefined) return userNotFound(email);
      const owners = user === undefined ? usersOf(store) : [user];
      const listed = await newestOf(store, owners, limit, wanted[status ?? 'all']);
      for (const row of listed.flatMap(inRows)) if (!(await rows.send(row))) break;
      return { count: listed.length };
    },
  },
  'signal.show': {
    hasRows: true,
    async run({ store }, { requestId }, rows) {
      const owner = await ownerOf(store, requestId);
      if (owner === undefined) return { refused: 'signal_not_found', requestId };
      const { request, user } = owner;
      for (const record of recordsOf(store, user.userId, request)) {
        const fills = await stepByTurns(firstFills(store, user.userId, record, shownFillsMax));
        const isCut = listedFills(record) > fills.length;
        await rows.send({ ...record, fills, isCut } satisfies ShownExecution);
      }
      return { request, email: user.email, userId: user.userId };
    },
  },
} as const satisfies Partial<Operations>;

function* usersOf(store: Reader): Generator<User, void, void> {
  for (const { record } of walk(store, 'users')) yield record;
}

/** Newest first. Reads of each user only the signals newer than the oldest one found so far. */
async function newestOf(
  store: Reader,
  owners: Iterable<User>,
  limit: number,
  { isMeant, collections }: Wanted,
): Promise<ListedSignal[]> {
  let found: ListedSignal[] = [];
  let read = 0;
  for (const { userId, email } of owners) {
    for (const collection of collections) {
      if (++read % requestsPerTurn === 0) await pause();
      const own: ListedSignal[] = [];
      const oldest = found.length < limit ? '' : (found.at(-1)?.requestId ?? '');
      for (const requestId of newestRequestIds(store, userId, collection)) {
        if (++read % requestsPerTurn === 0) await pause();
        if (requestId < oldest || own.length >= limit) break;
        const request = store.get('requests', [userId, requestId]);
        if (request === undefined) continue;
        const executions = recordsOf(store, userId, request);
        if (!isMeant(executions)) continue;
        own.push({
          ...picked(request, listedMembers),
          email,
          userId,
          executions: executions.map(listedExecution),
        });
      }
      if (own.length === 0) continue;
      // A request may be found in both collections.
      const all = new Map([...found, ...own].map((signal) => [signal.requestId, signal]));
      found = [...all.values()]
        .sort((a, b) => (a.requestId < b.requestId ? 1 : -1))
        .slice(0, limit);
    }
  }
  return found;
}

function listedExecution(execution: Execution): ListedExecution {
  const nativeOrderId = execution.native?.orderId ?? null;
  return { ...picked(execution, listedOfExecution), nativeOrderId };
}

/** A signal with many executions comes in several rows, one after the other. */
function inRows(signal: ListedSignal): ListedSignal[] {
  const { executions } = signal;
  const rows = Math.max(1, Math.ceil(executions.length / executionsPerRow));
  return Array.from({ length: rows }, (_, row) => {
    const from = row * executionsPerRow;
    return { ...signal, executions: executions.slice(from, from + executionsPerRow) };
  });
}

async function ownerOf(
  store: Reader,
  requestId: string,
): Promise<{ user: User; request: SignalRequest } | undefined> {
  let read = 0;
  for (const user of usersOf(store)) {
    const request = store.get('requests', [user.userId, requestId]);
    if (request !== undefined) return { user, request };
    if (++read % requestsPerTurn === 0) await pause();
  }
  return undefined;
}

/** Without the fills that have rows of their own. */
function recordsOf(store: Reader, userId: string, request: SignalRequest): Execution[] {
  return Array.from({ length: request.executionCount }, (_, index) =>
    recordOf(store, userId, executionIdOf(request.requestId, index)),
  ).filter((execution) => execution !== undefined);
}
