/**
 * Keeps what must survive the terminal's process for an order to leave at most once: the sequence numbers, and the
 * orders and cancels that were sent or were about to be. Their outcomes are in the plugin's journal. Owns the file,
 * which is written before a message leaves.
 */
import type { Clock } from '../lib/clock.js';
import { dayMs } from '../lib/durations.js';
import { hasGrown, type JournalFile } from '../terminal/journal-file.js';
import type { SequenceNumbers } from './session-action.js';

/** An order's ClOrdID at the venue, and the fields that requests on the order repeat. */
export interface SentOrder {
  readonly executionId: string;
  readonly clOrdId: string;
  /** MsgSeqNum of the message within this life of the sequence. */
  readonly seq: number;
  readonly life: number;
  /** Value of Symbol or SecurityID. */
  readonly instrument: string;
  readonly side: string;
  readonly quantity: string;
  readonly timeInForce: string;
  /** Unix milliseconds; absent in files of earlier versions. */
  readonly sentAt?: number;
  /** The venue has had the order: it told a status other than rejected. */
  readonly isTaken?: true;
}

export interface SentCancel {
  readonly cancelRequestId: string;
  readonly executionId: string;
  readonly clOrdId: string;
  readonly seq: number;
  readonly life: number;
}

/** What a cancel is called, here and at the venue. */
export type NamedCancel = Pick<SentCancel, 'cancelRequestId' | 'executionId' | 'clOrdId'>;

interface Settled {
  readonly executionId: string;
  /** Only for a cancel that was reported as unknown. */
  readonly cancelRequestId: string | undefined;
}

type Entry =
  | { readonly kind: 'begun'; readonly at: number }
  | { readonly kind: 'numbers'; readonly out: number; readonly in: number }
  /** The sequence has begun anew. */
  | { readonly kind: 'life'; readonly life: number }
  | { readonly kind: 'order'; readonly order: SentOrder }
  | { readonly kind: 'taken'; readonly clOrdId: string }
  | { readonly kind: 'cancel'; readonly cancel: SentCancel }
  /** A cancel's outcome was reported; with `cancelRequestId` if it is unknown. Old files lack `executionId`. */
  | ({ readonly kind: 'settled'; readonly clOrdId: string } & Partial<Settled>);

/** How long an order stays that the plugin does not know: longer than its command may come again. */
const keptMs = dayMs;

export class FixJournal {
  readonly #file: JournalFile;
  readonly #isKnown: (executionId: string) => boolean;
  readonly #clock: Clock;
  readonly #orders = new Map<string, SentOrder>();
  readonly #byExecution = new Map<string, SentOrder>();
  readonly #cancels = new Map<string, SentCancel>();
  /** By the cancel's ClOrdID: a venue may name the order by it alone, even after its answer to the cancel. */
  readonly #settled = new Map<string, Settled>();
  /**
   * By execution, the ClOrdIDs of its cancels that are not settled, or settled as unknown. Each report asks for them:
   * a look at all cancels of a busy day would hold up the session.
   */
  readonly #undecided = new Map<string, Set<string>>();
  #numbers: SequenceNumbers = { out: 1, in: 1 };
  #life = 1;
  #begunAt = 0;
  #entriesSinceCompaction = 0;

  /** @param isKnown whether the plugin's journal knows the execution, so that its order must stay. */
  constructor(file: JournalFile, isKnown: (executionId: string) => boolean, clock: Clock) {
    this.#file = file;
    this.#isKnown = isKnown;
    this.#clock = clock;
    if (file.lines.length === 0) this.#begunAt = clock.now();
    for (const line of file.lines) this.#apply(JSON.parse(line) as Entry);
    this.#compact();
  }

  get numbers(): SequenceNumbers {
    return this.#numbers;
  }

  /** Counts the lives of the sequence: a MsgSeqNum of an earlier life means nothing. */
  get life(): number {
    return this.#life;
  }

  /** When the file was begun, in Unix ms: orders from before may be missing, as after a file was lost. */
  get begunAt(): number {
    return this.#begunAt;
  }

  order(clOrdId: string): SentOrder | undefined {
    return this.#orders.get(clOrdId);
  }

  orderOf(executionId: string): SentOrder | undefined {
    return this.#byExecution.get(executionId);
  }

  /** In the order in which they were sent. */
  orders(): SentOrder[] {
    return [...this.#orders.values()];
  }

  /** @returns the cancel of this ClOrdID if it is not settled, or settled as unknown: an answer may still come. */
  unanswered(clOrdId: string): NamedCancel | undefined {
    const settled = this.#settled.get(clOrdId);
    if (settled?.cancelRequestId === undefined) return this.#cancels.get(clOrdId);
    return { clOrdId, executionId: settled.executionId, cancelRequestId: settled.cancelRequestId };
  }

  /** @returns the execution that a cancel of this name was for, settled or not. */
  cancelled(clOrdId: string): string | undefined {
    return this.#cancels.get(clOrdId)?.executionId ?? this.#settled.get(clOrdId)?.executionId;
  }

  /** @returns the cancels that are not settled. */
  cancels(): SentCancel[] {
    return [...this.#cancels.values()];
  }

  /** @returns the cancels of the execution that are not settled. */
  cancelsOf(executionId: string): SentCancel[] {
    return [...(this.#undecided.get(executionId) ?? [])]
      .map((clOrdId) => this.#cancels.get(clOrdId))
      .filter((cancel) => cancel !== undefined);
  }

  /** Whether a cancel of the execution is not settled, or settled as unknown: the venue may have carried it out. */
  mayBeCancelled(executionId: string): boolean {
    return this.#undecided.has(executionId);
  }

  noteOrder(order: Omit<SentOrder, 'sentAt'>): void {
    this.#note({ kind: 'order', order: { ...order, sentAt: this.#clock.now() } });
  }

  /** Writes it once: many reports may say so. */
  noteTaken({ clOrdId, isTaken }: SentOrder): void {
    if (isTaken !== true) this.#note({ kind: 'taken', clOrdId });
  }

  noteCancel(cancel: SentCancel): void {
    this.#note({ kind: 'cancel', cancel });
  }

  noteSettled({ clOrdId, executionId, cancelRequestId }: NamedCancel, isUnknown: boolean): void {
    const unanswered = isUnknown ? { cancelRequestId } : {};
    this.#note({ kind: 'settled', clOrdId, executionId, ...unanswered });
  }

  noteReset(): void {
    this.#note({ kind: 'life', life: this.#life + 1 });
  }

  /** Makes all entries and these numbers durable. @throws when the file cannot be written. */
  flush(numbers: SequenceNumbers): void {
    if (numbers.out !== this.#numbers.out || numbers.in !== this.#numbers.in) {
      this.#note({ kind: 'numbers', out: numbers.out, in: numbers.in });
    }
    this.#file.sync();
    const live = this.#orders.size + this.#cancels.size + this.#settled.size;
    if (hasGrown(this.#entriesSinceCompaction, live)) this.#compact();
  }

  close(): void {
    this.#file.close();
  }

  #note(entry: Entry): void {
    this.#apply(entry);
    this.#entriesSinceCompaction++;
    this.#file.append(JSON.stringify(entry));
  }

  #apply(entry: Entry): void {
    switch (entry.kind) {
      case 'begun':
        this.#begunAt = entry.at;
        break;
      case 'numbers':
        this.#numbers = { out: entry.out, in: entry.in };
        break;
      case 'life':
        this.#life = entry.life;
        break;
      case 'order':
        this.#keep(entry.order);
        break;
      case 'taken': {
        const order = this.#orders.get(entry.clOrdId);
        if (order !== undefined) this.#keep({ ...order, isTaken: true });
        break;
      }
      case 'cancel':
        this.#cancels.set(entry.cancel.clOrdId, entry.cancel);
        this.#decide(entry.cancel, false);
        break;
      case 'settled': {
        const { clOrdId, cancelRequestId } = entry;
        const executionId = entry.executionId ?? this.#cancels.get(clOrdId)?.executionId;
        this.#cancels.delete(clOrdId);
        if (executionId === undefined) break;
        this.#settled.set(clOrdId, { executionId, cancelRequestId });
        this.#decide({ clOrdId, executionId }, cancelRequestId === undefined);
      }
    }
  }

  #keep(order: SentOrder): void {
    this.#orders.set(order.clOrdId, order);
    this.#byExecution.set(order.executionId, order);
  }

  #decide(
    { clOrdId, executionId }: Pick<NamedCancel, 'clOrdId' | 'executionId'>,
    isDecided: boolean,
  ): void {
    const undecided = this.#undecided.get(executionId) ?? new Set();
    if (isDecided) undecided.delete(clOrdId);
    else undecided.add(clOrdId);
    if (undecided.size === 0) this.#undecided.delete(executionId);
    else this.#undecided.set(executionId, undecided);
  }

  #compact(): void {
    this.#entriesSinceCompaction = 0;
    const forgottenAt = this.#clock.now() - keptMs;
    for (const { clOrdId, executionId, sentAt = 0 } of this.#orders.values()) {
      if (this.#isKnown(executionId) || sentAt > forgottenAt) continue;
      this.#orders.delete(clOrdId);
      this.#byExecution.delete(executionId);
    }
    for (const executionId of this.#undecided.keys()) {
      if (!this.#byExecution.has(executionId)) this.#undecided.delete(executionId);
    }
    for (const { clOrdId, executionId } of this.#cancels.values()) {
      if (!this.#byExecution.has(executionId)) this.#cancels.delete(clOrdId);
    }
    for (const [clOrdId, { executionId }] of this.#settled) {
      if (!this.#byExecution.has(executionId)) this.#settled.delete(clOrdId);
    }
    const entries: Entry[] = [
      { kind: 'begun', at: this.#begunAt },
      { kind: 'life', life: this.#life },
      { kind: 'numbers', ...this.#numbers },
      ...this.orders().map((order) => ({ kind: 'order' as const, order })),
      ...this.cancels().map((cancel) => ({ kind: 'cancel' as const, cancel })),
      ...[...this.#settled].map(([clOrdId, settled]) => ({
        kind: 'settled' as const,
        clOrdId,
        ...settled,
      })),
    ];
    this.#file.rewrite(entries.map((entry) => JSON.stringify(entry)));
  }
}
