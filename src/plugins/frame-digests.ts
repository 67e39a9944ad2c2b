/**
 * Holds the digests of a source's frames that are received and not durable yet, in the order of their `seq`. In lists,
 * since a map whose entries come and go is remade now and then, and the old ones stay until the next full collection
 * with all that was in them.
 */
import { hash } from 'node:crypto';
import type { FrameBytes } from './decode-frame.js';

/** Most digests kept of a source. Without its digest, a repeated report is applied again, and changes nothing. */
const digestsMax = 1_000;

/** @returns a text of fixed size: whole frames would fill the memory while the disk takes no writes. */
export function digestOf({ whole }: FrameBytes): string {
  return hash('sha1', whole, 'base64');
}

export class FrameDigests {
  readonly #seqs: number[] = [];
  readonly #digests: string[] = [];

  set(seq: number, digest: string): void {
    const at = this.#countUpTo(seq);
    if (this.#seqs[at - 1] === seq) {
      this.#digests[at - 1] = digest;
      return;
    }
    this.#seqs.splice(at, 0, seq);
    this.#digests.splice(at, 0, digest);
    if (this.#seqs.length > digestsMax) this.#drop(1);
  }

  /** Everything up to `seq` is durable. */
  dropUpTo(seq: number): void {
    this.#drop(this.#countUpTo(seq));
  }

  /** @returns a copy, by `seq`. */
  toMap(): ReadonlyMap<number, string> {
    return new Map(this.#seqs.map((seq, index) => [seq, this.#digests[index] as string]));
  }

  #drop(count: number): void {
    if (count === 0) return;
    this.#seqs.splice(0, count);
    this.#digests.splice(0, count);
  }

  /** Nearly always all: counts from the end. */
  #countUpTo(seq: number): number {
    let count = this.#seqs.length;
    while (count > 0 && (this.#seqs[count - 1] as number) > seq) count--;
    return count;
  }
}
