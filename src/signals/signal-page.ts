/**
 * Collects one page of a user's signal requests, newest first, in short steps. A page ends when it is full,
 * or at `recordsMax` or `textLengthMax`: so its work does not grow with what is stored.
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
  #records = 0;

  constructor(reader: SignalReader, query: PageQuery, clock: Pick<Clock, 'monotonic'>) {
    this.#reader = reader;
    this.#query = query;
    this.#clock = clock;
  }

  /** @returns, in steps, the page's JSON; its `next` is where the next page begins, null when nothing is left. */
  *steps(): Generator<void, string, void> {
    const { userId, filter, limit, before } = this.#query;
    const collection = filter === 'open' ? 'openExecutions' : 'requests';
    const candidates = newestRequestIds(this.#reader.store, userId, collection, before);
    const texts: string[] = [];
    let textLength = 0;
    let last: string | null = null;
    let candidate = candidates.next();
    let step = this.#newStep();
    while (
      candidate.done !== true &&
      texts.length < limit &&
      this.#records < recordsMax &&
      textLength < textLengthMax
    ) {
      if (this.#isOver(step)) {
        yield;
        step = this.#newStep();
      }
      last = candidate.value;
      const read = this.#look(last);
      candidate = candidates.next();
      if (read === undefined) continue;
      const text = (read.isLong ? yield* read.steps() : read.json()).toString();
      texts.push(text);
      textLength += text.length;
    }
    const next = candidate.done === true ? null : last;
    return `{"signals":[${texts.join(',')}],"next":${JSON.stringify(next)}}`;
  }

  #newStep(): { readonly records: number; readonly ms: number } {
    return { records: this.#records + recordsPerStep, ms: this.#clock.monotonic() + msPerStep };
  }

  #isOver({ records, ms }: { readonly records: number; readonly ms: number }): boolean {
    return this.#records >= records || this.#clock.monotonic() >= ms;
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
