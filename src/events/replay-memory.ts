/**
 * Bounds the bytes that the ring buffers of all users hold together. Above the bound, the largest ring
 * buffers lose their oldest events. If the oldest event of all users were evicted instead, a user with many
 * events would take the replay from those with few. Ring buffers of about the same size (within a factor of
 * two) share a class, so that the largest is found without a search. Owns the sum and the classes, for the
 * life of the process.
 */
/** The next chunk for a reader: whole SSE frames of one source. */
export interface EventSlice {
  /** Valid until the ring buffer gets its next event. */
  readonly bytes: Uint8Array;
  /** `seq` of its last event. */
  readonly lastSeq: number;
  /** Events of the source after this slice. */
  readonly remaining: number;
}

/** The part of a ring buffer that the memory needs. */
export interface Held {
  /** Drops the oldest event, and calls `resized`. */
  dropOldest(): void;
}

/** The last slice that a ring buffer made: most readers of a user are at the same position. */
export interface LatestSlice {
  readonly ring: Held;
  readonly after: number;
  readonly source: string;
  readonly upTo: number;
  readonly slice: EventSlice;
}

const classCount = 33;

export class ReplayMemory {
  /** Shared by all ring buffers, so that its memory does not grow with their number. */
  latest: LatestSlice | undefined;
  #bytes = 0;
  readonly #classes = Array.from({ length: classCount }, () => new Set<Held>());

  constructor(readonly bytesMax: number) {}

  get bytes(): number {
    return this.#bytes;
  }

  resized(ring: Held, before: number, after: number): void {
    this.#bytes += after - before;
    const from = classOf(before);
    const to = classOf(after);
    if (from === to) return;
    this.#classes[from]?.delete(ring);
    if (to > 0) this.#classes[to]?.add(ring);
  }

  /** Drops events down to the bound. Call it when readers have what is new: an event may go that has just come. */
  trim(): void {
    while (this.#bytes > this.bytesMax) {
      const largest = this.#classes.findLast((rings) => rings.size > 0);
      const [ring] = largest ?? [];
      if (ring === undefined) return;
      ring.dropOldest();
    }
  }
}

/** @returns how many bits the size has; 0 for 0. */
function classOf(bytes: number): number {
  return 32 - Math.clz32(bytes);
}
