/**
 * Hands received frames to their connections, so many in one turn of the event loop: one read of a socket can
 * hold thousands, and would block everybody while they are handled. What is beyond waits, and each turn takes
 * from every waiting user alike. Owns the waiting frames until they are handled or their connection ends.
 */

/** The part of a connection that the intake needs. */
export interface FrameReader {
  readonly isClosed: boolean;
  readonly session: { readonly userId: string };
  /** The bytes are valid only during the call. */
  receive(bytes: Uint8Array, isBinary: boolean): void;
}

interface WaitingFrame {
  readonly reader: FrameReader;
  readonly bytes: Uint8Array;
  readonly isBinary: boolean;
}

interface WaitingUser {
  readonly frames: (WaitingFrame | undefined)[];
  /** Index of the next frame; those before it are handled and undefined. */
  next: number;
  bytes: number;
}

/** What one turn handles, in units: a small frame is one, and each KiB adds one. */
const unitsPerTurn = 64;
const bytesPerUnit = 1_024;
/** What may wait in all. Above it, a user that holds more than its share is too fast. */
const waitingBytesMax = 32 * 1_024 * 1_024;
/** Handled places at the head of a user's frames are cut off by so many at once. */
const placesPerCut = 1_024;

export type Intaken = 'handled' | 'waiting' | 'refused';

export class Intake {
  readonly #waiting = new Map<string, WaitingUser>();
  #waitingBytes = 0;
  #unitsUsed = 0;
  #isScheduled = false;
  readonly #onError: (error: unknown) => void;

  /** `onError`: a frame's handling failed in a later turn. */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** Bytes of the frames that wait. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Handles the frame now or later; refused when too much is waiting. The order of a user's frames is kept. */
  take(reader: FrameReader, bytes: ArrayBuffer, isBinary: boolean): Intaken {
    const { userId } = reader.session;
    const waiting = this.#waiting.get(userId);
    this.#schedule();
    if (waiting === undefined && this.#unitsUsed < unitsPerTurn) {
      this.#unitsUsed += unitsOf(bytes);
      reader.receive(new Uint8Array(bytes), isBinary);
      return 'handled';
    }
    const user = waiting ?? { frames: [], next: 0, bytes: 0 };
    const isFull = this.#waitingBytes >= waitingBytesMax;
    if (isFull && user.bytes >= waitingBytesMax / (this.#waiting.size + 1)) return 'refused';
    if (waiting === undefined) this.#waiting.set(userId, user);
    user.frames.push({ reader, bytes: copyOf(bytes), isBinary });
    this.#count(user, sizeOf(bytes));
    return 'waiting';
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#unitsUsed = 0;
    this.#isScheduled = false;
    if (this.#waiting.size === 0) return;
    this.#schedule();
    // A user that is moved to the end comes again: the loop ends when nothing waits or the turn is used up.
    for (const [userId, user] of this.#waiting) {
      this.#handleNext(user);
      this.#waiting.delete(userId);
      if (user.next < user.frames.length) this.#waiting.set(userId, user);
      if (this.#unitsUsed >= unitsPerTurn) return;
    }
  }

  #handleNext(user: WaitingUser): void {
    const { reader, bytes, isBinary } = user.frames[user.next] as WaitingFrame;
    user.frames[user.next++] = undefined;
    if (user.next === placesPerCut) {
      user.frames.splice(0, placesPerCut);
      user.next = 0;
    }
    this.#count(user, -sizeOf(bytes));
    if (reader.isClosed) return;
    this.#unitsUsed += unitsOf(bytes);
    try {
      reader.receive(bytes, isBinary);
    } catch (error) {
      this.#onError(error);
    }
  }

  #count(user: WaitingUser, bytes: number): void {
    user.bytes += bytes;
    this.#waitingBytes += bytes;
  }
}

/** Small ones share memory: a buffer for each would be most of what a burst of ten thousand costs. */
function copyOf(bytes: ArrayBuffer): Uint8Array {
  const copy = Buffer.allocUnsafe(bytes.byteLength);
  copy.set(new Uint8Array(bytes));
  return copy;
}

function unitsOf(bytes: { readonly byteLength: number }): number {
  return 1 + Math.floor(bytes.byteLength / bytesPerUnit);
}

/** With what the frame's objects take. */
function sizeOf(bytes: { readonly byteLength: number }): number {
  return bytes.byteLength + 512;
}
