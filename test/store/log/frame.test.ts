import fc from 'fast-check';
import t from 'tap';
import { FrameMemory } from '../../../src/store/frame-memory.js';
import { FrameWriter } from '../../../src/store/frame-writer.js';
import type { GroupCommit } from '../../../src/store/group-commit.js';
import { readKey } from '../../../src/store/key-encoding.js';
import {
  eachChange,
  eachFrame,
  findFrames,
  isBegun,
  readFrame,
  sealFrame,
} from '../../../src/store/log/frame.js';
import { Overlay } from '../../../src/store/overlay.js';
import type { Writer } from '../../../src/store/store.js';
import { WriteGroup } from '../../../src/store/write-group.js';
import { noGaps } from '../no-gaps.js';

const place = { position: 2 ** 45 + 7, sequence: 4_000_000_000 };

/** A frame as the store makes it. */
function frameOf(fill: (batch: Writer) => void): Buffer {
  const memory = new FrameMemory();
  const group = new WriteGroup(memory.begin(), 0);
  const commits = { join: () => group } as unknown as GroupCommit;
  new FrameWriter({ commits, memory, overlay: new Overlay(), gaps: noGaps }).run(fill);
  const frame = Buffer.from(group.frame);
  sealFrame(frame, place);
  return frame;
}

t.test('changes come back as they were put, with keys and records of any texts', (t) => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\ud800', '\0', '𝒳', ''));
  const change = fc.record({ user: text, key: text, record: fc.option(text, { nil: undefined }) });
  const property = fc.property(fc.array(change, { minLength: 1, maxLength: 20 }), (changes) => {
    const frame = frameOf((batch) => {
      for (const { user, key, record } of changes) {
        if (record === undefined) batch.remove('signalIds', [user, key]);
        else batch.put('signalIds', [user, key], record);
      }
    });
    t.strictSame(readFrame(frame, 0), { frame, ...place });
    const back: unknown[] = [];
    eachChange(frame, (collection, key, value) => {
      const record = value.length === 0 ? undefined : (JSON.parse(value.toString()) as string);
      const [user, id] = readKey(key, 0, key.length) as [string, string];
      back.push({ collection, user, key: id, record });
    });
    t.strictSame(
      back,
      changes.map((each) => ({ collection: 10, ...each })),
    );
    // The search finds no second frame inside the frame.
    t.equal([...findFrames(frame, 0)].length, 1);
  });
  fc.assert(property, { numRuns: 100 });
  t.end();
});

t.test('a record that looks like a frame is not taken for one', (t) => {
  const inner = frameOf((batch) => batch.put('meta', 'inner', 1));
  const outer = frameOf((batch) => batch.put('meta', 'outer', inner.toString('latin1')));
  t.equal([...findFrames(outer, 0)].length, 1);
  t.end();
});

t.test('no change to a frame goes unseen', (t) => {
  const frame = frameOf((batch) => batch.put('meta', 'key', 'value'));
  for (let i = 0; i < frame.length; i++) {
    const changed = Buffer.from(frame);
    changed[i] = (changed[i] as number) ^ 0x01;
    t.equal(readFrame(changed, 0), undefined, `byte ${i}`);
  }
  for (let length = 0; length < frame.length; length++) {
    t.equal(readFrame(frame.subarray(0, length), 0), undefined, `${length} bytes`);
  }
  t.end();
});

t.test('a frame that was begun is told from one of another place, and from none', (t) => {
  const frame = frameOf((batch) => batch.put('meta', 'key', 'value'));
  frame.fill(0, 50);
  t.equal(isBegun(frame, 0, place), true);
  t.equal(isBegun(frame, 0, { ...place, position: 7 }), false);
  t.equal(isBegun(frame, 0, { ...place, sequence: 7 }), false);
  t.equal(isBegun(Buffer.alloc(100), 0, { position: 0, sequence: 0 }), false);
  t.end();
});

t.test('frames lie one behind the other', (t) => {
  const frames = ['a', 'b'].map((key) => frameOf((batch) => batch.put('meta', key, key)));
  t.same([...eachFrame(Buffer.concat(frames))], frames);
  t.end();
});
