/**
 * Collects one page of a user's signal requests, newest first, in short steps. A page ends when it is full,
 * or at `recordsMax` or `textLengthMax`: so its work does not grow with what is stored. Holds the texts of
 * its requests.
 */
import type { Clock } from '../lib/clock.js';
import { executionStretch } from '../lib/ids.js';
import { isFinal } from '../model/execution.js';
import { newestRequestIds } from './newest-requests.js';
import type { ReadSignal, SignalReader } from './signal-reader.js';

export const pageFilters = ['open', 'completed', 'all'] as const;
export type PageFilter = (typeof pageFilters)[number];

export interface PageQuery {
  readonly userId: string;
  readonly filter: PageFilter;
  /** Requests at most. */
  readonly limit: number;
  /** Only requests that were accepted before this one; undefined for the newest. */
  readonly before: string | undefined;
}

/** Records after which a page ends, full or not: as many as 200 signals with an execution each, the largest page. */
const recordsMax = 2_000;
/** Characters of text after which a page ends. */
const textLengthMax = 256 * 1024;
/** Records after which a step ends: about a millisecond. */
const recordsPerStep = 64;
/**
 * The same in time: while the index is far behind, or the disk has to be asked, one look-up takes as long as 64 in
 * memory.
 */
const msPerStep = 2;
/** What a request counts, in records: its payload, of up to 96 KiB, takes as long as several executions. */
const recordsPerRequest = 8;
const keysPerRead = 64;

export class SignalPage {
  readonly #reader: SignalReader;
  readonly #query: PageQuery;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #candidates: Iterator<string, void>;
  readonly #texts: string[] = [];
  #next: IteratorResult<string, void>;
  /** The last request that was looked at. */
  #last: string | null = null;
  #records = 0;
  #textLength = 0;
  /** Makes the text of a long request. */
  #long: Iterator<void, Buffer, void> | undefined;

  constructor(reader: SignalReader, query: PageQuery, clock: Pick<Clock, 'monotonic'>) {
    this.#reader = reader;
    this.#query = query;
    this.#clock = clock;
    const { userId, filter, before } = query;
    const collection = filter === 'open' ? 'openExecutions' : 'requests';
    this.#candidates = newestRequestIds(reader.store, userId, collection, before);
    this.#next = this.#candidates.next();
  }

  /** Does a part of the work. @returns true when the page is done. */
  step(): boolean {
    if (this.#long !== undefined && !this.#goOn(this.#long)) return false;
    const stepEnd = this.#records + recordsPerStep;
    const endsAt = this.#clock.monotonic() + msPerStep;
    while (!this.#isDone() && this.#records < stepEnd) {
      const requestId = this.#next.value as string;
      const read = this.#look(requestId);
      this.#last = requestId;
      this.#next = this.#candidates.next();
      if (read?.isLong === true) {
        this.#long = read.steps();
        return false;
      }
      if (read !== undefined) this.#add(read.json());
      if (this.#clock.monotonic() >= endsAt) break;
    }
    return this.#isDone();
  }

  /** JSON of the page; `next` is where the next page begins, null when nothing is left. */
  get text(): string {
    const next = this.#next.done === true ? null : this.#last;
    return `{"signals":[${this.#texts.join(',')}],"next":${JSON.stringify(next)}}`;
  }

  #isDone(): boolean {
    return (
      this.#next.done === true ||
      this.#texts.length >= this.#query.limit ||
      this.#records >= recordsMax ||
      this.#textLength >= textLengthMax
    );
  }

  /** @returns false when the long text has further steps. */
  #goOn(long: Iterator<void, Buffer, void>): boolean {
    const { value, done } = long.next();
    if (done !== true) return false;
    this.#long = undefined;
    this.#add(value);
    return true;
  }

  /** @returns the request; undefined if the filter leaves it out. */
  #look(requestId: string): ReadSignal | undefined {
    const { userId, filter } = this.#query;
    this.#records++;
    // Skips most open requests before their payload is read.
    if (filter === 'completed' && this.#hasOpen(requestId)) return undefined;
    const read = this.#reader.read(userId, requestId);
    if (read === undefined) return undefined;
    this.#records += read.records.length + recordsPerRequest;
    return filter === 'all' || read.isCompleted === (filter === 'completed') ? read : undefined;
  }

  #add(json: Buffer): void {
    const text = json.toString();
    this.#texts.push(text);
    this.#textLength += text.length;
  }

  /** Whether an open row of the request is not final: a final execution lies there while its cancel is open. */
  #hasOpen(requestId: string): boolean {
    const { userId } = this.#query;
    const stretch = executionStretch(userId, requestId, requestId);
    const range = { ...stretch, limit: keysPerRead };
    const rows = this.#reader.store.range('openExecutions', range);
    this.#records += rows.length;
    return rows.some(({ record }) => !isFinal(this.#reader.shown(userId, record).status));
  }
}
