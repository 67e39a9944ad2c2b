/** A reader at the other end of a stream, which blocks, drains and breaks as the test says. */
import type { EventSink } from '../../src/events/subscriber.js';

export class FakeSink implements EventSink {
  readonly writes: string[] = [];
  wasAborted = false;
  isBroken = false;
  /** Characters after which a write blocks the socket. */
  room = Infinity;

  isBlocked(): boolean {
    return this.room <= 0;
  }

  isClosed(): boolean {
    return this.wasAborted || this.isBroken;
  }

  write(bytes: Uint8Array): void {
    const text = Buffer.from(bytes).toString();
    if (this.isBlocked() || this.isClosed()) throw new Error('written to while blocked or closed');
    this.writes.push(text);
    this.room -= text.length;
  }

  abort(): void {
    this.wasAborted = true;
  }

  /** seq of every event that the reader was given. */
  get seqs(): number[] {
    return [...this.writes.join('').matchAll(/^id: [0-9a-f]+-(\d+)$/gm)].map(([, seq]) =>
      Number(seq),
    );
  }
}
