/**
 * The book of executions that still move: for each the newest state, its deadline, and the way to
 * the disk. Memory holds what is meant, the store what is durable; bots and terminals are told of a
 * change only after its flush. Rebuilt at start from the store's open executions.
 */
import type { Clock } from '../lib/clock.js';
import type { Limits } from '../limits.js';
import type { WriteQueue, Stored } from '../store/write-queue.js';
import type { Reader } from '../store/store.js';
import { BookEntry, type EntryKeeper, type SourceLine } from './book-entry.js';
import { isFinalCancel, moveCancel, settleCancel } from '../model/cancellation.js';
import type { Deadlines } from '../lib/deadlines.js';
import { isSettled, mayMove, type Execution } from '../model/execution.js';
import type { ReasonCode } from '../model/reason-codes.js';
import { sourceKey } from '../model/source-name.js';

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
  readonly writer: WriteQueue;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly limits: Limits;
  /** Whether the connection that carried the submit is still there. */
  readonly isConnected: (connectionId: string) => boolean;
  /** Told after the flush of each change, in order. */
  readonly onChange: (userId: string, before: Execution, after: Execution) => void;
}

export class ExecutionBook implements EntryKeeper {
  readonly #deps: ExecutionBookDeps;
  readonly #entries = new Map<string, BookEntry>();
  /** By userId and source. */
  readonly #lines = new Map<string, SourceLine>();

  constructor(deps: ExecutionBookDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Reads what was open when the last process ended. What may have been sent counts as sent. */
  load(): void {
    let userId = '';
    for (const { key, record } of this.#deps.store.range('openExecutions')) {
      // One text for all of a user, not one for each.
      if (userId !== key[0]) userId = key[0];
      const next = asRecovered(record);
      const entry = this.#entryOf(userId, record, next.status !== 'queued');
      this.#keep(entry);
      if (next === record) this.#rearm(entry);
      else this.change(entry, next);
      entry.rest();
    }
  }

  /** Reads what is open of a user that has come from another gateway; what is here already stays. */
  adopt(userId: string): void {
    for (const { record } of this.#deps.store.range('openExecutions', { prefix: [userId] })) {
      if (!this.#entries.has(record.executionId)) this.add(userId, record).rest();
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
    if (entry !== undefined)
      return entry.userId === userId && this.#isThere(entry) ? entry : undefined;
    const key: [string, string] = [userId, executionId];
    const { store } = this.#deps;
    const record = store.get('finalExecutions', key) ?? store.get('openExecutions', key);
    return record === undefined ? undefined : this.#entryOf(userId, record, true);
  }

  /** Entries of one source, in the order of acceptance. */
  ofSource(userId: string, source: string): BookEntry[] {
    const line = this.#lines.get(`${userId} ${source}`);
    return line === undefined ? [] : [...line.entries].filter((entry) => this.#isThere(entry));
  }

  read({ userId, executionId }: BookEntry): Execution | undefined {
    return this.#deps.store.get('openExecutions', [userId, executionId]);
  }

  due(entry: BookEntry): void {
    if (!this.#isThere(entry)) return;
    const { status } = entry.execution;
    if (status === 'queued') this.#end(entry, 'expired', 'ttl_expired');
    else if (isUnconfirmed(entry.execution)) this.#giveUp(entry);
    else this.#leaveIfDone(entry);
  }

  /** A user's records may be gone a moment before anybody says that the user is. */
  #isThere(entry: BookEntry): boolean {
    if (entry.recall() !== undefined) return true;
    this.#drop(entry);
    return false;
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

  #entryOf(userId: string, execution: Execution, isRecovered: boolean): BookEntry {
    const now = this.#deps.clock.now();
    const monotonic = this.#deps.clock.monotonic();
    const { createdAt, dispatchedAt, expiresAt } = execution;
    // No life is longer than it was at the acceptance, however far the clock was set back since.
    const leftMs = Math.min(expiresAt - now, expiresAt - createdAt);
    return new BookEntry(
      this,
      userId,
      execution,
      monotonic,
      monotonic + leftMs,
      dispatchedAt === null ? undefined : this.#confirmDue(dispatchedAt - now),
      isRecovered,
    );
  }

  #keep(entry: BookEntry): void {
    if (entry.line !== undefined) return;
    this.#entries.set(entry.executionId, entry);
    const name = `${entry.userId} ${sourceOf(entry.execution)}`;
    let line = this.#lines.get(name);
    if (line === undefined) {
      line = { name, entries: new Set() };
      this.#lines.set(name, line);
    }
    line.entries.add(entry);
    entry.line = line;
  }

  #leaveIfDone(entry: BookEntry): void {
    if (entry.pendingWrites > 0 || !isSettled(entry.execution)) return;
    if (!this.#mayBeSentAgain(entry)) this.#drop(entry);
  }

  #drop(entry: BookEntry): void {
    this.#deps.deadlines.remove(entry);
    this.#deps.deadlines.remove(entry.cancelDeadline);
    const { line } = entry;
    if (line === undefined) return;
    this.#entries.delete(entry.executionId);
    line.entries.delete(entry);
    if (line.entries.size === 0) this.#lines.delete(line.name);
    entry.line = undefined;
  }

  /** Whether a submit frame may still leave. Both clocks must agree: one of them may have been off. */
  mayStillSend(entry: BookEntry): boolean {
    const { clock } = this.#deps;
    return entry.expiryDue > clock.monotonic() && entry.execution.expiresAt > clock.now();
  }

  /** How long ago it was sent; undefined where that was not in this life of the process. */
  msSinceSent({ confirmDue, isRecovered }: BookEntry): number | undefined {
    const { clock, limits } = this.#deps;
    if (confirmDue === undefined || isRecovered) return undefined;
    return clock.monotonic() - (confirmDue - limits.executionConfirmTimeoutMs);
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
    const { execution } = entry;
    this.#rearmCancel(entry);
    if (execution.status === 'queued' || this.#mayBeSentAgain(entry)) {
      deadlines.set(entry, entry.expiryDue);
    } else if (isUnconfirmed(execution)) {
      const now = clock.now();
      entry.confirmDue ??= this.#confirmDue((execution.dispatchedAt ?? now) - now);
      deadlines.set(entry, entry.confirmDue);
    } else {
      deadlines.remove(entry);
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

  /** Sent, and not confirmed in time: its outcome is unknown, and is called so. */
  #giveUp(entry: BookEntry): void {
    const carrier = entry.connectionId;
    const reason: ReasonCode =
      carrier === undefined && entry.isRecovered
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

/** Sent, and nothing is known of it yet. */
function isUnconfirmed({ status, confirmedAt }: Execution): boolean {
  return (status === 'dispatched' || status === 'submitted') && confirmedAt === null;
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
export function asRecovered(execution: Execution): Execution {
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
