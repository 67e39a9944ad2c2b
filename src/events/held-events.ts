/**
 * The events of a ring buffer, oldest first, in columns. The garbage collector would copy an object for each event
 * twice, and mark it in each full collection; the ring buffers of a thousand users hold a million events.
 */
export interface HeldEvent {
  /** Monotonic ms of the publication. */
  readonly at: number;
  /** Key of the event's source. */
  readonly source: string;
  /** Holds the event's frame from `begin` to `end`, and the frames of the user's events around it. */
  readonly block: Uint8Array;
  readonly begin: number;
  readonly end: number;
}

/** A power of two. The ring buffer of a user without orders holds one event: that its terminal is online. */
const capacityMin = 2;
const noTimes = new Float64Array(0);
const noBlock = new Uint8Array(0);
/** What has no place is never written to, so that all ring buffers may share it. */
const none: never[] = [];

export class HeldEvents {
  #length = 0;
  /** Place of the oldest event; those of the others follow, and go on at 0 after the last one. */
  #first = 0;
  /** A list would hold an object for each time. */
  #at = noTimes;
  #source: string[] = none;
  #block: Uint8Array[] = none;
  #begin: number[] = none;
  #end: number[] = none;

  get length(): number {
    return this.#length;
  }

  push({ at, source, block, begin, end }: HeldEvent): void {
    if (this.#length === this.#at.length) this.#move(Math.max(capacityMin, 2 * this.#length));
    const place = this.#placeOf(this.#length++);
    this.#at[place] = at;
    this.#source[place] = source;
    this.#block[place] = block;
    this.#begin[place] = begin;
    this.#end[place] = end;
  }

  /** Drops the oldest event. */
  shift(): void {
    this.#block[this.#first] = noBlock;
    this.#first = this.#placeOf(1);
    this.#length--;
    const capacity = this.#at.length;
    if (this.#length < capacity / 4 && capacity > capacityMin) this.#move(capacity / 2);
  }

  atOf(index: number): number {
    return this.#at[this.#placeOf(index)] as number;
  }

  sourceOf(index: number): string {
    return this.#source[this.#placeOf(index)] as string;
  }

  blockOf(index: number): Uint8Array {
    return this.#block[this.#placeOf(index)] as Uint8Array;
  }

  sizeOf(index: number): number {
    const place = this.#placeOf(index);
    return (this.#end[place] as number) - (this.#begin[place] as number);
  }

  isNextTo(before: number, index: number): boolean {
    const a = this.#placeOf(before);
    const b = this.#placeOf(index);
    return this.#block[a] === this.#block[b] && this.#end[a] === this.#begin[b];
  }

  /** @returns the bytes of the event's frame, and of those behind it in its block up to `size`. */
  bytesOf(index: number, size = this.sizeOf(index)): Uint8Array {
    const begin = this.#begin[this.#placeOf(index)] as number;
    return this.blockOf(index).subarray(begin, begin + size);
  }

  #placeOf(index: number): number {
    return (this.#first + index) & (this.#at.length - 1);
  }

  #move(capacity: number): void {
    const inOrder = <T>(column: readonly T[], empty: T): T[] => {
      const moved = new Array<T>(capacity).fill(empty);
      for (let index = 0; index < this.#length; index++) {
        moved[index] = column[this.#placeOf(index)] as T;
      }
      return moved;
    };
    const at = Float64Array.from({ length: capacity }, (_, index) =>
      index < this.#length ? this.atOf(index) : 0,
    );
    const source = inOrder(this.#source, '');
    const block = inOrder(this.#block, noBlock);
    const begin = inOrder(this.#begin, 0);
    const end = inOrder(this.#end, 0);
    this.#at = at;
    this.#source = source;
    this.#block = block;
    this.#begin = begin;
    this.#end = end;
    this.#first = 0;
  }
}
