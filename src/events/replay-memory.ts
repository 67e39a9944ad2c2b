/**
 * Bounds the bytes that the ring buffers of all users hold together. Above the bound, the largest ring buffers lose
 * their oldest events: so a user with many events never takes the replay from one with few, as it would if the
 * oldest event of all left. Ring buffers of about the same size (within a factor of two) share a class, so that
 * the largest is found without a search. Owns the sum and the classes, for the life of the process.
 */
/** The next chunk for a reader: whole SSE frames of one source. */
export interface EventSlice {
  readonly bytes: Uint8Array;
  /** `seq` of its last event. */
  readonly lastSeq: number;
  /** Events of the source after this slice. */
  readonly remaining: number;
}

/** A ring buffer, as the memory sees it. */
export interface Held {
  /** Drops its oldest event, and says so with `resized`. */
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
  /** One for all ring buffers, so that their number does not multiply it. */
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

  /** Call it after a push, whose event is not the oldest of its ring buffer unless it is the only one. */
  trim(): void {
    while (this.#bytes > this.bytesMax) {
      const largest = this.#classes.findLast((rings) => rings.size > 0);
      const [ring] = largest ?? [];
      if (ring === undefined) return;
      ring.dropOldest();
    }
  }
}

/** The number of bits of a size: 0 for nothing. */
function classOf(bytes: number): number {
  return 32 - Math.clz32(bytes);
}
