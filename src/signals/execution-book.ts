/**
 * The book of executions that still move: for each the newest state, its deadline, and the way to
 * the disk. Memory holds what is meant, the store what is durable; bots and terminals are told of a
 * change only after its flush. Rebuilt at start from the store's open executions.
 */
import type { Clock } from '../lib/clock.js';
import type { Limits } from '../limits.js';
import type { SteadyWriter, Stored } from '../store/steady-writer.js';
import type { Reader, Writer } from '../store/store.js';
import { isFinalCancel, moveCancel, settleCancel } from './cancellation.js';
import type { Deadline, Deadlines } from './deadlines.js';
import { isSettled, mayMove, type Execution } from './execution.js';
import type { ReasonCode } from './reason-codes.js';
import { sourceKey } from './routing.js';

/** One execution in the book. Only the book changes it. */
export class BookEntry implements Stored {
  /** Connection that carried the submit frame, in this life of the process. */
  connectionId: string | undefined;
  deadline: Deadline | undefined;
  cancelDeadline: Deadline | undefined;
  pendingWrites = 0;
  /** Whether a write may have put it among the settled ones. */
  #mayLieSettled: boolean;

  constructor(
    readonly userId: string,
    public execution: Execution,
    /** Monotonic ms when it entered this life of the process. */
    readonly enteredAt: number,
    /** Monotonic ms after which no submit frame may leave. */
    readonly expiryDue: number,
    /** Monotonic ms at which it is called unknown, once it was sent. */
    public confirmDue: number | undefined,
    /** Was sent, or may have been, before this life of the process. */
    readonly isInherited: boolean,
  ) {
    this.#mayLieSettled = isSettled(execution);
  }

  /** Settled executions and moving ones lie apart, so that a start reads only what moves. */
  put(batch: Writer): void {
    const { userId, execution } = this;
    const key: [string, string] = [userId, execution.executionId];
    if (isSettled(execution)) {
      this.#mayLieSettled = true;
      batch.remove('openExecutions', key);
      batch.put('finalExecutions', key, execution);
    } else {
      if (this.#mayLieSettled) batch.remove('finalExecutions', key);
      batch.put('openExecutions', key, execution);
    }
  }
}

export interface ChangeOptions {
  /** Written in the same transaction. */
  readonly alongside?: Stored;
  /** Runs after the flush. */
  readonly done?: () => void;
  /** Runs when a commit failed; the change is then tried again until it is on disk. */
  readonly failed?: () => void;
}

export interface ExecutionBookDeps {
  readonly store: Reader;
  readonly writer: SteadyWriter;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly limits: Limits;
  /** Whether the connection that carried the submit is still there. */
  readonly isConnected: (connectionId: string) => boolean;
  /** Told after the flush of each change, in order. */
  readonly onChange: (userId: string, before: Execution, after: Execution) => void;
}

export class ExecutionBook {
  readonly #deps: ExecutionBookDeps;
  readonly #entries = new Map<string, BookEntry>();
  /** userId and source → its entries, in the order of acceptance. */
  readonly #bySource = new Map<string, Set<BookEntry>>();

  constructor(deps: ExecutionBookDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Reads what was open when the last process ended. What may have been sent counts as sent. */
  load(): void {
    for (const { key, record } of this.#deps.store.range('openExecutions')) {
      const next = asInherited(record);
      const entry = this.#entryOf(key[0], record, next.status !== 'queued');
      this.#keep(entry);
      if (next === record) this.#rearm(entry);
      else this.change(entry, next);
    }
  }

  /** Reads what is open of a user that has come from another gateway; what is here already stays. */
  adopt(userId: string): void {
    for (const { record } of this.#deps.store.range('openExecutions', { prefix: [userId] })) {
      if (!this.#entries.has(record.executionId)) this.add(userId, record);
    }
  }

  /** Takes in an execution that has just become durable. */
  add(userId: string, execution: Execution): BookEntry {
    const entry = this.#entryOf(userId, execution, false);
    this.#keep(entry);
    this.#rearm(entry);
    return entry;
  }

  /** @returns the entry of an execution of this user, also of a final one. */
  find(userId: string, executionId: string): BookEntry | undefined {
    const entry = this.#entries.get(executionId);
    if (entry !== undefined) return entry.userId === userId ? entry : undefined;
    const key: [string, string] = [userId, executionId];
    const { store } = this.#deps;
    const record = store.get('finalExecutions', key) ?? store.get('openExecutions', key);
    return record === undefined ? undefined : this.#entryOf(userId, record, true);
  }

  /** Entries of one source, in the order of acceptance. */
  ofSource(userId: string, source: string): BookEntry[] {
    return [...(this.#bySource.get(`${userId} ${source}`) ?? [])];
  }

  /**
   * Makes `next` the execution's state: in memory now, on disk soon, and told after that. A cancel
   * that its new status ends is ended with it.
   */
  change(entry: BookEntry, next: Execution, options: ChangeOptions = {}): void {
    const before = entry.execution;
    const after =
      next.cancel === null || next.status === before.status
        ? next
        : { ...next, cancel: settleCancel(next.cancel, next.status, next.updatedAt) };
    entry.execution = after;
    this.#keep(entry);
    this.#rearm(entry);
    entry.pendingWrites++;
    const { alongside } = options;
    this.#deps.writer.write({
      records: alongside === undefined ? [entry] : [entry, alongside],
      done: () => {
        entry.pendingWrites--;
        this.#leaveIfDone(entry);
        this.#deps.onChange(entry.userId, before, after);
        options.done?.();
      },
      failed: options.failed,
    });
  }

  /** Drops all of a user that no longer exists. */
  forget(userId: string): void {
    for (const entry of this.#entries.values()) {
      if (entry.userId !== userId) continue;
      this.#drop(entry);
    }
  }

  #entryOf(userId: string, execution: Execution, isInherited: boolean): BookEntry {
    const now = this.#deps.clock.now();
    const monotonic = this.#deps.clock.monotonic();
    const { dispatchedAt, expiresAt } = execution;
    return new BookEntry(
      userId,
      execution,
      monotonic,
      monotonic + expiresAt - now,
      dispatchedAt === null ? undefined : this.#confirmDue(dispatchedAt - now),
      isInherited,
    );
  }

  #keep(entry: BookEntry): void {
    this.#entries.set(entry.execution.executionId, entry);
    const source = `${entry.userId} ${sourceOf(entry.execution)}`;
    const siblings = this.#bySource.get(source);
    if (siblings === undefined) this.#bySource.set(source, new Set([entry]));
    else siblings.add(entry);
  }

  #leaveIfDone(entry: BookEntry): void {
    if (entry.pendingWrites > 0 || !isSettled(entry.execution)) return;
    if (!this.#mayBeSentAgain(entry)) this.#drop(entry);
  }

  #drop(entry: BookEntry): void {
    this.#deps.deadlines.remove(entry.deadline);
    this.#deps.deadlines.remove(entry.cancelDeadline);
    const { executionId } = entry.execution;
    if (this.#entries.get(executionId) === entry) this.#entries.delete(executionId);
    const source = `${entry.userId} ${sourceOf(entry.execution)}`;
    const siblings = this.#bySource.get(source);
    siblings?.delete(entry);
    if (siblings?.size === 0) this.#bySource.delete(source);
  }

  /** Whether a submit frame may still leave. Both clocks must agree: one of them may have been off. */
  mayStillSend(entry: BookEntry): boolean {
    const { clock } = this.#deps;
    return entry.expiryDue > clock.monotonic() && entry.execution.expiresAt > clock.now();
  }

  /** An unknown one that nobody acknowledged stays deliverable until its TTL has passed. */
  #mayBeSentAgain(entry: BookEntry): boolean {
    const { status, delivery } = entry.execution;
    return status === 'unknown' && delivery === 'sent' && this.mayStillSend(entry);
  }

  /** `sinceMs`: how long ago it was sent, as a negative number, or 0 for now. */
  #confirmDue(sinceMs: number): number {
    const { clock, limits } = this.#deps;
    return clock.monotonic() + Math.min(0, sinceMs) + limits.executionConfirmTimeoutMs;
  }

  /** Sets the deadlines that the states of the execution and its cancel ask for. */
  #rearm(entry: BookEntry): void {
    const { deadlines, clock } = this.#deps;
    const { status, confirmedAt, dispatchedAt } = entry.execution;
    const now = clock.now();
    this.#rearmCancel(entry);
    deadlines.remove(entry.deadline);
    entry.deadline = undefined;
    if (status === 'queued') {
      entry.deadline = deadlines.at(entry.expiryDue, () => this.#expire(entry));
    } else if ((status === 'dispatched' || status === 'submitted') && confirmedAt === null) {
      entry.confirmDue ??= this.#confirmDue((dispatchedAt ?? now) - now);
      entry.deadline = deadlines.at(entry.confirmDue, () => this.#giveUp(entry));
    } else if (this.#mayBeSentAgain(entry)) {
      entry.deadline = deadlines.at(entry.expiryDue, () => this.#leaveIfDone(entry));
    }
  }

  #rearmCancel(entry: BookEntry): void {
    const { deadlines, clock, limits } = this.#deps;
    const { cancel } = entry.execution;
    if (cancel === null || isFinalCancel(cancel.status) || cancel.dispatchedAt === null) {
      deadlines.remove(entry.cancelDeadline);
      entry.cancelDeadline = undefined;
    } else if (entry.cancelDeadline === undefined) {
      // A terminal that takes up what was called unknown gets its time anew.
      const from = cancel.status === 'pending' ? cancel.updatedAt : cancel.dispatchedAt;
      const since = Math.max(0, clock.now() - from);
      entry.cancelDeadline = deadlines.after(limits.cancelConfirmTimeoutMs - since, () =>
        this.#giveUpCancel(entry),
      );
    }
  }

  #giveUpCancel(entry: BookEntry): void {
    entry.cancelDeadline = undefined;
    const { execution } = entry;
    const now = this.#deps.clock.now();
    const cancel =
      execution.cancel === null
        ? undefined
        : moveCancel(execution.cancel, 'unknown', 'cancel_timeout', now);
    if (cancel !== undefined) this.change(entry, { ...execution, cancel, updatedAt: now });
  }

  #expire(entry: BookEntry): void {
    this.#end(entry, 'expired', 'ttl_expired');
  }

  /** Sent, and not confirmed in time: its outcome is unknown, and is called so. */
  #giveUp(entry: BookEntry): void {
    const carrier = entry.connectionId;
    const reason: ReasonCode =
      carrier === undefined && entry.isInherited
        ? 'gateway_restarted'
        : carrier !== undefined && this.#deps.isConnected(carrier)
          ? 'confirmation_timeout'
          : 'disconnected_after_send';
    this.#end(entry, 'unknown', reason);
  }

  #end(entry: BookEntry, status: 'expired' | 'unknown', reasonCode: ReasonCode): void {
    const { execution } = entry;
    if (!mayMove(execution.status, status)) return;
    this.change(entry, { ...execution, status, reasonCode, updatedAt: this.#deps.clock.now() });
  }
}

/** The execution as it stands once its submit frame has left, or must be taken to have left. */
export function sentAt(execution: Execution, now: number): Execution {
  return {
    ...execution,
    status: 'dispatched',
    delivery: 'sent',
    dispatchedAt: now,
    updatedAt: Math.max(now, execution.updatedAt),
  };
}

/**
 * The execution as another life of the process, or another gateway, must take it: what may have been
 * sent counts as sent, so that it is not sent as new and ends `unknown`.
 */
export function asInherited(execution: Execution): Execution {
  const { status, maySend, createdAt } = execution;
  const sent = status === 'queued' && maySend ? sentAt(execution, createdAt) : execution;
  const { cancel } = sent;
  if (cancel === null) return sent;
  const sentCancel = moveCancel(cancel, 'dispatched', null, cancel.requestedAt);
  if (sentCancel === undefined) return sent;
  return { ...sent, cancel: { ...sentCancel, dispatchedAt: cancel.requestedAt } };
}

/** The durable executions of a request, in order. */
export function readExecutions(
  store: Reader,
  userId: string,
  executionIds: readonly string[],
): Execution[] {
  return executionIds.flatMap((executionId) => {
    const key: [string, string] = [userId, executionId];
    return store.get('openExecutions', key) ?? store.get('finalExecutions', key) ?? [];
  });
}

function sourceOf({ platform, instanceId, accountName }: Execution): string {
  return sourceKey({ platform, instanceId: instanceId ?? '', accountName: accountName ?? '' });
}
