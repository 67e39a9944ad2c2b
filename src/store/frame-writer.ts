/**
 * Encodes what a write puts and removes right into the frame of its group, and notes each as the newest
 * version of its key. A write that throws half-way is taken back.
 */
import { assert } from '../lib/assert.js';
import type { FrameMemory } from './frame-memory.js';
import type { GroupCommit } from './group-commit.js';
import { assertKeyFits, keyBytesMax, writeKey } from './key-encoding.js';
import { type Collection, collectionTraits, type KeyOf, type RecordOf } from './key-layout.js';
import type { KnownGaps } from './known-gaps.js';
import { changeHeaderBytes, writeChangeHeader } from './log/frame.js';
import type { Overlay } from './overlay.js';
import { bytesOfRecord } from './record-text.js';
import type { Writer } from './store.js';
import type { WriteGroup } from './write-group.js';

/** No record is an empty text. */
const noRecord = new Uint8Array(0);

export interface FrameWriterDeps {
  readonly commits: GroupCommit;
  readonly memory: FrameMemory;
  readonly overlay: Overlay;
  readonly gaps: Pick<KnownGaps, 'leave'>;
}

export class FrameWriter implements Writer {
  #isOpen = false;
  /** The group of the write that runs now, once it has put anything. */
  #group: WriteGroup | undefined;
  /** What the group held before the write. */
  #versions = 0;
  #bytes = 0;

  constructor(readonly deps: FrameWriterDeps) {}

  /** Runs `work`, which may write to this meanwhile. @returns what it returned. */
  run<T>(work: (writer: Writer) => T): T {
    assert(!this.#isOpen, 'no write is made within another one');
    this.#isOpen = true;
    this.#group = undefined;
    try {
      return work(this);
    } catch (error) {
      this.#takeBack(this.#group);
      throw error;
    } finally {
      this.#isOpen = false;
    }
  }

  /** The group that the last run has written to; undefined when it put nothing. */
  get group(): WriteGroup | undefined {
    return this.#group;
  }

  #takeBack(group: WriteGroup | undefined): void {
    if (group === undefined) return;
    this.deps.overlay.revert(group, this.#versions);
    group.span.end = group.span.start + this.#bytes;
  }

  put<C extends Collection>(collection: C, key: KeyOf<C>, record: RecordOf<C>): void {
    this.deps.gaps.leave(collection, key);
    this.#note(collection, key, bytesOfRecord(collection, record));
  }

  remove<C extends Collection>(collection: C, key: KeyOf<C>): void {
    this.#note(collection, key, noRecord);
  }

  #note(collection: Collection, key: KeyOf<Collection>, record: Uint8Array): void {
    assert(this.#isOpen, 'a write is added to only while its function runs');
    assertKeyFits(key);
    const { memory, overlay } = this.deps;
    const group = (this.#group ??= this.#join());
    const { span } = group;
    memory.reserve(span, changeHeaderBytes + keyBytesMax + record.length);
    const { bytes } = span.block;
    const keyStart = span.end + changeHeaderBytes;
    const keyEnd = writeKey(key, bytes, keyStart);
    const end = keyEnd + record.length;
    bytes.set(record, keyEnd);
    writeChangeHeader(bytes, span.end, collectionTraits[collection].number, keyEnd, end);
    span.end = end;
    const { start } = span;
    overlay.add(group, collection, keyStart - start, keyEnd - start, end - start);
  }

  #join(): WriteGroup {
    const group = this.deps.commits.join();
    this.#versions = group.versions.length;
    this.#bytes = group.bytes;
    return group;
  }
}
