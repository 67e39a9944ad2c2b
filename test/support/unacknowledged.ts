/**
 * The numbered frames of a plugin that the gateway has not acknowledged as durable, as PROTOCOL.md
 * asks of every plugin: numbers go on over reconnects, and a new connection repeats what is left.
 */
export class UnacknowledgedFrames {
  /** The last number given. */
  seq = 0;
  /** By `seq`, ascending. */
  readonly #frames = new Map<number, object>();

  get size(): number {
    return this.#frames.size;
  }

  /** Frames to repeat on a new connection, in the order of their numbers. */
  get frames(): Iterable<object> {
    return this.#frames.values();
  }

  /** Gives `fields` the next number. @returns the frame to send. */
  add<Fields extends object>(fields: Fields): Fields & { readonly seq: number } {
    const frame = { ...fields, seq: ++this.seq };
    this.#frames.set(this.seq, frame);
    return frame;
  }

  /** `lastSeq`, of a welcome: the highest number that the gateway has ever seen of the source. */
  welcomed(lastSeq: number): void {
    this.acknowledge(lastSeq);
    this.seq = Math.max(this.seq, lastSeq);
  }

  /** Acknowledgements are cumulative. */
  acknowledge(upTo: number): void {
    for (const seq of this.#frames.keys()) {
      if (seq > upTo) return;
      this.#frames.delete(seq);
    }
  }
}
