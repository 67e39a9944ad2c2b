/**
 * Reads signal requests as clients see them. Bots read the same request again and again, mostly unchanged: so
 * its JSON is kept, as bytes, with the records that it was made from, for as long as the store keeps the
 * request in memory.
 */
import { executionIdOf } from '../lib/ids.js';
import { takeAll } from '../lib/turn.js';
import { isCompleted, type Execution } from '../model/execution.js';
import type { SignalRequest } from '../model/records.js';
import type { Reader } from '../store/store.js';
import type { OwedCancels } from './owed-cancels.js';
import { type ShownExecution, toSignalView } from './signal-view.js';
import { firstFills, recordOf } from './stored-execution.js';

export interface ReadSignal {
  /** The executions, without the fills that have rows of their own. */
  readonly records: readonly Execution[];
  /** Whether every execution is final. */
  readonly isCompleted: boolean;
  /** Whether making the JSON takes milliseconds: take `steps`, one in each turn of the event loop. */
  readonly isLong: boolean;
  /** JSON of the request and its executions. The bytes are shared: do not change them. */
  json(): Buffer;
  /** Makes the same JSON in steps. */
  steps(): Generator<void, Buffer, void>;
}

export interface SignalReaderDeps {
  readonly store: Reader;
  /** Fills in one answer, of all executions together. */
  readonly fillsMax: number;
  /** Gives the decisions that the records do not show yet. */
  readonly owed?: Pick<OwedCancels, 'decided'>;
}

/**
 * A long JSON text is made anew for each reader, which costs time instead of memory. Counts the characters of
 * fills, about `fillLength` each, and of terminals' texts, up to 8192 each.
 */
const longFrom = 50_000;
const fillLength = 100;

export class SignalReader {
  readonly #deps: SignalReaderDeps;
  readonly #known = new WeakMap<SignalRequest, ReadSignal>();

  constructor(deps: SignalReaderDeps) {
    this.#deps = deps;
  }

  get store(): Reader {
    return this.#deps.store;
  }

  /** @returns undefined when the user has no such request. */
  read(userId: string, requestId: string): ReadSignal | undefined {
    const request = this.store.get('requests', [userId, requestId]);
    if (request === undefined) return undefined;
    const known = this.#known.get(request);
    if (known !== undefined && this.#isUnchanged(userId, known.records)) return known;
    const records = Array.from({ length: request.executionCount }, (_, index) =>
      this.#record(userId, executionIdOf(requestId, index)),
    ).filter((record) => record !== undefined);
    const read = this.#readOf(userId, request, records);
    if (records.length === request.executionCount) this.#known.set(request, read);
    return read;
  }

  #readOf(userId: string, request: SignalRequest, records: readonly Execution[]): ReadSignal {
    let kept: Buffer | undefined;
    const length = records.reduce(
      (sum, { fillRows = 0, native }) => sum + fillRows * fillLength + (native?.text?.length ?? 0),
      0,
    );
    const isLong = length > longFrom;
    const steps = (): Generator<void, Buffer, void> => this.#json(userId, request, records);
    return {
      records,
      isCompleted: isCompleted(records),
      isLong,
      json: () => {
        if (kept !== undefined) return kept;
        const json = takeAll(steps());
        if (!isLong) kept = json;
        return json;
      },
      steps,
    };
  }

  *#json(
    userId: string,
    request: SignalRequest,
    records: readonly Execution[],
  ): Generator<void, Buffer, void> {
    const executions = yield* this.#withFills(userId, records);
    return Buffer.from(JSON.stringify(toSignalView(request, executions)));
  }

  /** Adds the fills to the records, as far as the answer has room. */
  *#withFills(
    userId: string,
    records: readonly Execution[],
  ): Generator<void, ShownExecution[], void> {
    let left = this.#deps.fillsMax;
    const shown: ShownExecution[] = [];
    for (const record of records) {
      const fills = yield* firstFills(this.store, userId, record, left);
      left -= fills.length;
      const isCut = fills.length < record.fills.length + (record.fillRows ?? 0);
      // Most records are returned as they are: a copy of each would slow down every read.
      shown.push(!isCut && fills === record.fills ? record : { ...record, fills, isCut });
    }
    return shown;
  }

  /** The store returns the same object for an unchanged record. */
  #isUnchanged(userId: string, records: readonly Execution[]): boolean {
    for (const record of records) {
      if (this.#record(userId, record.executionId) !== record) return false;
    }
    return true;
  }

  #record(userId: string, executionId: string): Execution | undefined {
    const record = recordOf(this.store, userId, executionId);
    return record && this.shown(userId, record);
  }

  /** @returns the execution as clients see it. */
  shown(userId: string, execution: Execution): Execution {
    return this.#deps.owed?.decided(userId, execution) ?? execution;
  }
}
