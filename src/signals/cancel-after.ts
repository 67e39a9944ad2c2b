/**
 * The dead-man's switches of API keys: cancels all open orders that a key submitted, once, unless its bot
 * calls again in time. A switch fires whatever became of its key meanwhile; one transaction stores that it
 * fired, that it is disarmed, and what becomes of the orders. Owns the switches that are armed or being
 * written; a start reads them from the store, and fires those whose time passed while the gateway was down.
 */
import { isDeleted } from '../auth/accounts.js';
import { toIsoTime, toIsoTimeOrNull, type Clock } from '../lib/clock.js';
import { graceMsMax, type Deadline, type Deadlines } from '../lib/deadlines.js';
import { isoTimeOrNull } from '../lib/json-types.js';
import { Outline } from '../lib/json-outline.js';
import { compileSchema } from '../lib/schema.js';
import Type, { type Static } from 'typebox';
import { cancelAfterMs } from '../model/cancellation.js';
import type { CancelAfterRecord } from '../model/records.js';
import type { TrailLog } from '../model/trail-events.js';
import { commitAnswerMs } from '../store/storage-health.js';
import type { Reader, Writer } from '../store/store.js';
import type { Stored, WriteQueue } from '../store/write-queue.js';
import type { Acceptance } from './acceptance.js';
import type { CancelAll } from './cancel-all.js';

export const cancelAfterRequestSchema = Type.Object(
  {
    timeoutMs: Type.Integer({
      minimum: 0,
      maximum: cancelAfterMs.max,
      description: `Milliseconds: 0 disarms, otherwise at least ${cancelAfterMs.min}.`,
      examples: [30_000],
    }),
  },
  { additionalProperties: false },
);

/** What `isCancelAfterRequest` looks at. */
export const cancelAfterOutline = new Outline(Object.keys(cancelAfterRequestSchema.properties), 1);

const isRequest = compileSchema(cancelAfterRequestSchema);

export function isCancelAfterRequest(
  body: unknown,
): body is Static<typeof cancelAfterRequestSchema> {
  return isRequest(body) && (body.timeoutMs === 0 || body.timeoutMs >= cancelAfterMs.min);
}

/** The body of the 200. */
export const cancelAfterSchema = Type.Object({
  armed: Type.Boolean(),
  /** 0 while the switch is not armed. */
  timeoutMs: Type.Integer({ minimum: 0 }),
  firesAt: isoTimeOrNull,
  lastFiredAt: isoTimeOrNull,
});

export type CancelAfterView = Static<typeof cancelAfterSchema>;

export interface CancelAfterDeps {
  readonly store: Reader;
  readonly writer: WriteQueue;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly acceptance: Pick<Acceptance, 'afterPending'>;
  readonly cancelAll: CancelAll;
  readonly trail: TrailLog;
}

const never: CancelAfterRecord = { timeoutMs: 0, firesAt: null, lastFiredAt: null };

class Switch implements Stored {
  deadline: Deadline | undefined;
  /** When the deadline fires, in monotonic ms. */
  due = Infinity;
  /** How often the switch has come due without that being on disk yet. */
  fires = 0;

  constructor(
    readonly userId: string,
    readonly keyId: number,
    public record: CancelAfterRecord,
  ) {}

  put(batch: Writer): void {
    batch.put('cancelAfters', [this.userId, String(this.keyId)], this.record);
  }
}

export class CancelAfter {
  readonly #deps: CancelAfterDeps;
  readonly #switches = new Map<string, Switch>();

  constructor(deps: CancelAfterDeps) {
    this.#deps = deps;
  }

  load(): void {
    const { clock, store } = this.#deps;
    const now = clock.now();
    for (const { key, record } of store.range('cancelAfters')) {
      if (record.firesAt === null || isDeleted(store, key[0])) continue;
      const each = new Switch(key[0], Number(key[1]), record);
      this.#switches.set(nameOf(each), each);
      // A clock that was set back does not extend the wait.
      this.#arm(each, Math.min(record.firesAt - now, record.timeoutMs));
    }
  }

  /** @returns the durable state. */
  read(userId: string, keyId: number): CancelAfterView {
    return toView(this.#recordOf(userId, keyId) ?? never);
  }

  /**
   * Arms the switch anew from now, or disarms it with 0. Calls `answer` after the flush, and with undefined each
   * time the commit fails or takes long; the switch is in force all the same, and the write is retried.
   */
  set(
    userId: string,
    keyId: number,
    timeoutMs: number,
    answer: (view: CancelAfterView | undefined) => void,
  ): void {
    const { clock, deadlines, writer } = this.#deps;
    const known = this.#switches.get(nameOf({ userId, keyId }));
    const each = known ?? new Switch(userId, keyId, this.#recordOf(userId, keyId) ?? never);
    const { lastFiredAt } = each.record;
    const firesAt = timeoutMs === 0 ? null : clock.now() + timeoutMs;
    const record = (each.record = { timeoutMs, firesAt, lastFiredAt });
    this.#switches.set(nameOf(each), each);
    this.#arm(each, timeoutMs);
    const late = deadlines.after(commitAnswerMs, () => answer(undefined));
    writer.write({
      records: [each],
      done: () => {
        deadlines.remove(late);
        this.#release(each);
        answer(toView(record));
      },
      failed: () => answer(undefined),
    });
  }

  /**
   * Shortens every armed switch by the time that the computer slept, in which its monotonic clock stood still.
   * A switch that a bot armed after the wake keeps its time, by the wall clock. One that came due in the
   * sleep fires after `graceMsMax`, as after a pause: until then a bot that is alive may call again.
   */
  slept(ms: number): void {
    const { clock } = this.#deps;
    for (const each of this.#switches.values()) {
      const { firesAt } = each.record;
      if (each.deadline === undefined || firesAt === null) continue;
      const leftMs = each.due - clock.monotonic();
      const awakeMs = Math.max(leftMs - ms, firesAt - clock.now(), graceMsMax);
      this.#arm(each, Math.min(leftMs, awakeMs));
    }
  }

  /** Drops the switches of a deleted user. */
  forget(userId: string): void {
    for (const [name, each] of this.#switches) {
      if (each.userId !== userId) continue;
      this.#deps.deadlines.remove(each.deadline);
      this.#switches.delete(name);
    }
  }

  #arm(each: Switch, delayMs: number): void {
    const { clock, deadlines } = this.#deps;
    deadlines.remove(each.deadline);
    each.due = clock.monotonic() + Math.max(0, delayMs);
    each.deadline =
      each.record.firesAt === null ? undefined : deadlines.at(each.due, () => this.#due(each));
  }

  /** Waits for orders of the key whose commit is under way: the switch cancels them, too. */
  #due(each: Switch): void {
    each.deadline = undefined;
    each.fires++;
    this.#deps.acceptance.afterPending(each.userId, () => this.#fire(each));
  }

  #fire(each: Switch): void {
    const { cancelAll, clock } = this.#deps;
    const { userId, keyId } = each;
    const cause = 'cancel_after_expired';
    const trail = { keyId };
    cancelAll.run(
      { userId, keyId, isMeant: () => true, cause, trail },
      ({ cancelled: { matched } }) => {
        // Disarms the switch, unless it was armed anew meanwhile.
        const firesAt = each.deadline === undefined ? null : each.record.firesAt;
        each.record = { ...each.record, firesAt, lastFiredAt: clock.now() };
        return {
          alongside: each,
          done: () => {
            each.fires--;
            this.#release(each);
            this.#deps.trail.note('cancel_after_fired', { userId, keyId, matched });
          },
        };
      },
    );
  }

  /**
   * Drops a switch that is disarmed and durable: the store has it. Keeps it while a fire waits, because the
   * fire writes this object, and would overwrite another one that was armed meanwhile.
   */
  #release(each: Switch): void {
    if (each.record.firesAt !== null || each.deadline !== undefined || each.fires > 0) return;
    const stored = this.#recordOf(each.userId, each.keyId);
    if (stored?.firesAt !== null || stored.lastFiredAt !== each.record.lastFiredAt) return;
    if (this.#switches.get(nameOf(each)) === each) this.#switches.delete(nameOf(each));
  }

  #recordOf(userId: string, keyId: number): CancelAfterRecord | undefined {
    return this.#deps.store.get('cancelAfters', [userId, String(keyId)]);
  }
}

function nameOf({ userId, keyId }: Pick<Switch, 'userId' | 'keyId'>): string {
  return `${userId} ${keyId}`;
}

function toView({ timeoutMs, firesAt, lastFiredAt }: CancelAfterRecord): CancelAfterView {
  return {
    armed: firesAt !== null,
    timeoutMs: firesAt === null ? 0 : timeoutMs,
    firesAt: firesAt === null ? null : toIsoTime(firesAt),
    lastFiredAt: toIsoTimeOrNull(lastFiredAt),
  };
}
