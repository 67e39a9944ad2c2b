/**
 * Hands received frames to their connections, a limited number in each turn of the event loop: one read of a
 * socket can hold thousands, and handling them all would block everything else. The rest waits, and each turn
 * takes an equal share from every waiting user. A frame that takes long is handled in steps. A close waits behind the
 * frames that came before it. Owns what waits.
 */
import type { Clock } from '../lib/clock.js';
import { Queue } from '../lib/queue.js';
import type { Steps } from '../lib/turn.js';

/** The part of a connection that the intake needs. */
export interface FrameReader {
  readonly isClosed: boolean;
  readonly session: { readonly userId: string };
  /** Called once for all frames of one read that a later turn handles. */
  heard(): void;
  /** The bytes are valid only during the call. @returns what is left to be done before the user's next frame. */
  receive(bytes: Uint8Array, isBinary: boolean): Steps | undefined;
  /** Called when all frames are handled and no more can come. */
  closed(): void;
}

/** The memory of frames that wait. */
interface Block {
  readonly bytes: Uint8Array;
  /** New frames are copied after the used bytes. */
  used: number;
  /** Frames in it that are not handled yet. */
  frames: number;
}

interface WaitingFrame {
  readonly reader: FrameReader;
  readonly block: Block;
  readonly begin: number;
  readonly end: number;
  readonly isBinary: boolean;
}

interface WaitingClose {
  readonly reader: FrameReader;
  readonly block: undefined;
}

interface Unfinished {
  readonly reader: FrameReader;
  readonly steps: Steps;
}

interface WaitingUser {
  /** What is left of the frame that was handled last. */
  unfinished: Unfinished | undefined;
  readonly frames: Queue<WaitingFrame | WaitingClose>;
  bytes: number;
}

/** What one turn handles, in units: a small frame is one, and each KiB adds one. */
const unitsPerTurn = 64;
/** The same in milliseconds: an event takes longer than an ack, a process's first frames ten times as long. */
const msPerTurn = 1;
const bytesPerUnit = 1_024;
/** Units handled for one user before the next: several, so that events that come together leave together. */
const unitsPerUser = 16;
/** Bytes that may wait in all. Above it, a user that holds more than its share is too fast. */
const waitingBytesMax = 32 * 1_024 * 1_024;
/** Size of a block of frames: a buffer for each frame would be most of what a burst of ten thousand costs. */
const blockBytes = 64 * 1_024;
/** What the objects of a waiting frame take beside its bytes. */
const overheadBytes = 512;

export type Intaken = 'handled' | 'waiting' | 'refused';

export class Intake {
  readonly #waiting = new Map<string, WaitingUser>();
  #waitingBytes = 0;
  #unitsUsed = 0;
  #msUsed = 0;
  #isScheduled = false;
  /** The reader whose frame was the last to wait in this turn. */
  #heard: FrameReader | undefined;
  #block = newBlock(0);
  /** A block without frames, for the next ones. V8 would mark the whole heap for each 64 MiB of new blocks. */
  #spare: Block | undefined;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #onError: (error: unknown) => void;

  /** `onError`: a frame's handling failed in a later turn. */
  constructor(clock: Pick<Clock, 'monotonic'>, onError: (error: unknown) => void) {
    this.#clock = clock;
    this.#onError = onError;
  }

  /** Bytes of the frames that wait. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Handles the frame now or later; refused when too much is waiting. The order of a user's frames is kept. */
  take(reader: FrameReader, bytes: ArrayBuffer, isBinary: boolean): Intaken {
    const { userId } = reader.session;
    let user = this.#waiting.get(userId);
    if (!this.#isScheduled) this.#schedule();
    const size = bytes.byteLength;
    if (user === undefined) {
      if (!this.#isUsedUp) {
        const unfinished = this.#handle(reader, new Uint8Array(bytes), isBinary);
        if (unfinished !== undefined) this.#waiting.set(userId, newUser(unfinished));
        return 'handled';
      }
      user = newUser();
      this.#waiting.set(userId, user);
    }
    const isFull = this.#waitingBytes >= waitingBytesMax;
    if (isFull && user.bytes >= waitingBytesMax / (this.#waiting.size + 1)) return 'refused';
    if (this.#block.used + size > this.#block.bytes.length) this.#renewBlock(size);
    const block = this.#block;
    const begin = block.used;
    const end = begin + size;
    block.used = end;
    block.frames++;
    block.bytes.set(new Uint8Array(bytes), begin);
    user.frames.push({ reader, block, begin, end, isBinary });
    user.bytes += size + overheadBytes;
    this.#waitingBytes += size + overheadBytes;
    if (reader !== this.#heard) {
      this.#heard = reader;
      reader.heard();
    }
    return 'waiting';
  }

  /** No more frames come: the connection ends when the frames that its user sent before are handled. */
  close(reader: FrameReader): void {
    const user = this.#waiting.get(reader.session.userId);
    if (user === undefined) reader.closed();
    else user.frames.push({ reader, block: undefined });
  }

  #schedule(): void {
    this.#isScheduled = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#unitsUsed = 0;
    this.#msUsed = 0;
    this.#isScheduled = false;
    this.#heard = undefined;
    if (this.#waiting.size === 0) return;
    this.#schedule();
    // A user that is moved to the end comes again: the loop ends when nothing waits or the turn is used up.
    for (const [userId, user] of this.#waiting) {
      const unitsMax = this.#unitsUsed + unitsPerUser;
      do this.#handleNext(user);
      while (isWaiting(user) && this.#unitsUsed < unitsMax && !this.#isUsedUp);
      this.#waiting.delete(userId);
      if (isWaiting(user)) this.#waiting.set(userId, user);
      if (this.#isUsedUp) return;
    }
  }

  #handleNext(user: WaitingUser): void {
    const { unfinished } = user;
    user.unfinished = undefined;
    try {
      if (unfinished !== undefined) user.unfinished = this.#goOn(unfinished);
      else user.unfinished = this.#handleWaiting(user, user.frames.shift());
    } catch (error) {
      this.#onError(error);
    }
  }

  #handleWaiting(user: WaitingUser, waiting?: WaitingFrame | WaitingClose): Unfinished | undefined {
    if (waiting === undefined) return undefined;
    const { reader, block } = waiting;
    if (block === undefined) {
      reader.closed();
      return undefined;
    }
    const { begin, end, isBinary } = waiting;
    const size = end - begin;
    user.bytes -= size + overheadBytes;
    this.#waitingBytes -= size + overheadBytes;
    try {
      if (reader.isClosed) return undefined;
      return this.#handle(reader, block.bytes.subarray(begin, end), isBinary);
    } finally {
      if (--block.frames === 0) this.#reuse(block);
    }
  }

  /** @returns the same if there are further steps. A frame whose connection has been closed has none. */
  #goOn(unfinished: Unfinished): Unfinished | undefined {
    const { reader, steps } = unfinished;
    if (reader.isClosed) return undefined;
    const isDone = this.#counted(1, () => steps.next().done === true);
    return isDone ? undefined : unfinished;
  }

  #handle(reader: FrameReader, bytes: Uint8Array, isBinary: boolean): Unfinished | undefined {
    const units = 1 + Math.floor(bytes.length / bytesPerUnit);
    const steps = this.#counted(units, () => reader.receive(bytes, isBinary));
    return steps === undefined ? undefined : { reader, steps };
  }

  #counted<T>(units: number, work: () => T): T {
    const beganAt = this.#clock.monotonic();
    this.#unitsUsed += units;
    try {
      return work();
    } finally {
      this.#msUsed += this.#clock.monotonic() - beganAt;
    }
  }

  get #isUsedUp(): boolean {
    return this.#unitsUsed >= unitsPerTurn || this.#msUsed >= msPerTurn;
  }

  #reuse(block: Block): void {
    block.used = 0;
    if (block !== this.#block && block.bytes.length === blockBytes) this.#spare = block;
  }

  #renewBlock(size: number): void {
    const spare = size <= blockBytes ? this.#spare : undefined;
    if (spare !== undefined) this.#spare = undefined;
    this.#block = spare ?? newBlock(Math.max(blockBytes, size));
  }
}

function newBlock(size: number): Block {
  return { bytes: new Uint8Array(Buffer.allocUnsafeSlow(size).buffer), used: 0, frames: 0 };
}

function newUser(unfinished?: Unfinished): WaitingUser {
  return { unfinished, frames: new Queue(), bytes: 0 };
}

function isWaiting({ unfinished, frames }: WaitingUser): boolean {
  return unfinished !== undefined || frames.length > 0;
}
