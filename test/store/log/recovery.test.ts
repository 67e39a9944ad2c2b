/** Recovery against a model: lives of a log that end in any way, on a disk that fails as disks may. */
import fc from 'fast-check';
import t from 'tap';
import { findFrames, frameHeaderBytes } from '../../../src/store/log/frame.js';
import { Log } from '../../../src/store/log/log.js';
import { type IndexPlace, recover } from '../../../src/store/log/recovery.js';
import { segmentHeaderBytes } from '../../../src/store/log/segment.js';
import { StoreRefused } from '../../../src/store/refusal.js';
import { type StoreFailure, WriteRefused } from '../../../src/store/store.js';
import {
  createMemoryDisk,
  type Fate,
  type MemoryDisk,
} from '../../support/memory-segment-files.js';

const segmentBytes = segmentHeaderBytes + 6 * 1024;
const logId = '0123456789abcdef';
const numRuns = process.env['TEST_ALL'] === undefined ? 1_500 : 20_000;

type Step =
  | { readonly do: 'append'; readonly bytes: number; readonly fates: readonly Fate[] }
  | { readonly do: 'fill'; readonly frames: number }
  | { readonly do: 'fail to make'; readonly files: number };

interface Life {
  readonly steps: readonly Step[];
  /** Whether files that this life removed are there again after it. */
  readonly revives: boolean;
  /** Whether another program takes back the newest commit of the index. */
  readonly undoes: boolean;
}

const sectors = fc.oneof(fc.constantFrom(0, -1, 1, -2), fc.integer());
const fate: fc.Arbitrary<Fate> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Fate>({ kind: 'done' }) },
  { weight: 2, arbitrary: sectors.map((bits): Fate => ({ kind: 'fails', sectors: bits })) },
  { weight: 1, arbitrary: sectors.map((bits): Fate => ({ kind: 'killed', sectors: bits })) },
);
const append = fc.record({
  do: fc.constant('append' as const),
  // Frames of which a segment holds many, frames that fill most of one, and frames too large for one.
  bytes: fc.oneof(fc.integer({ min: 0, max: 800 }), fc.integer({ min: 0, max: 9_000 })),
  fates: fc.array(fate, { maxLength: 2 }),
});
const fill = fc.record({ do: fc.constant('fill' as const), frames: fc.nat({ max: 12 }) });
const fails = fc.record({
  do: fc.constant('fail to make' as const),
  files: fc.integer({ min: -1, max: 2 }),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: append },
  { weight: 3, arbitrary: fill },
  { weight: 1, arbitrary: fails },
);
const life: fc.Arbitrary<Life> = fc.record({
  steps: fc.array(step, { maxLength: 14 }),
  revives: fc.boolean(),
  undoes: fc.boolean(),
});
const lives = fc.array(life, { minLength: 1, maxLength: 6 });

/** What the log was asked to append, and what it answered. */
class Model {
  readonly disk: MemoryDisk = createMemoryDisk();
  /** Acknowledged frames, with the position behind each. */
  readonly acknowledged: { readonly content: string; readonly end: number }[] = [];
  /** Frames since the last acknowledged one that failed or were under way at a kill: at most one is there. */
  unknown: string[] = [];
  index: IndexPlace = { logId, position: 0 };
  /** The position of the index before its newest commit of this life. */
  #before = 0;
  #count = 0;

  /** Recovers the log. Throws unless it finds the acknowledged frames, and at most one of the unknown. */
  recover(): Log {
    const found = this.disk.find();
    const recovery = recover(found, this.index);
    const contents = recovery.stretches.flatMap(({ segment, from, to }) =>
      framesOf(segment.read().subarray(from, to)),
    );
    const expected = this.acknowledged
      .filter(({ end }) => end > this.index.position)
      .map(({ content }) => content);
    const [extra, ...more] = contents.slice(expected.length);
    const isPrefix = expected.every((content, i) => contents[i] === content);
    if (!isPrefix || more.length > 0 || (extra !== undefined && !this.unknown.includes(extra))) {
      throw new Error(
        `expected ${expected.join()} and perhaps one of ${this.unknown.join()}, found ${contents.join()}`,
      );
    }
    if (extra !== undefined) this.acknowledged.push({ content: extra, end: recovery.end });
    this.unknown = [];
    this.#before = this.index.position;
    this.index = { logId, position: recovery.end };
    const options = { logId, files: this.disk, segmentBytes, refusal: () => undefined };
    return new Log(options, found, recovery);
  }

  async live({ steps, revives, undoes }: Life): Promise<void> {
    const { disk } = this;
    const log = this.recover();
    for (const step of steps) {
      if (disk.isKilled) break;
      if (step.do === 'append') await this.#append(log, step.bytes, step.fates);
      else if (step.do === 'fill') this.#fill(log, step.frames);
      else disk.failingMakes = step.files;
    }
    // The kill also ends the making of files in the background, at any stage.
    disk.isKilled = true;
    for (let i = 0; i < 3; i++) await new Promise(setImmediate);
    if (revives) disk.revive();
    if (undoes) this.index = { logId, position: this.#before };
    disk.restart();
  }

  async #append(log: Log, bytes: number, fates: readonly Fate[]): Promise<void> {
    const content = `${++this.#count}:`.padEnd(bytes, 'x');
    const frame = Buffer.alloc(frameHeaderBytes + content.length, content, 'latin1');
    frame.write(content, frameHeaderBytes, 'latin1');
    this.disk.fates = [...fates];
    const failure = await new Promise<StoreFailure | 'killed' | undefined>((resolve) => {
      log.append(frame, resolve);
      const look = (): void => {
        if (this.disk.isKilled) resolve('killed');
        else setImmediate(look);
      };
      look();
    });
    // The fate of a frame that a kill left without an answer is unknown.
    if (failure === undefined && !this.disk.isKilled) {
      this.acknowledged.push({ content, end: log.end });
      this.unknown = [];
    } else if (!(failure instanceof WriteRefused)) {
      this.unknown.push(content);
    }
  }

  #fill(log: Log, frames: number): void {
    const lacking = this.acknowledged.filter(({ end }) => end > this.index.position);
    const last = lacking.slice(0, frames).at(-1);
    if (last === undefined) return;
    this.#before = this.index.position;
    this.index = { logId, position: last.end };
    log.release(this.#before);
  }
}

function framesOf(bytes: Buffer): string[] {
  const contents: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = bytes.readUInt32LE(at + 20);
    contents.push(bytes.toString('latin1', at + frameHeaderBytes, at + length));
    at += length;
  }
  return contents;
}

t.test('what was acknowledged is there after any lives, in order, and nothing else', async (t) => {
  const property = fc.asyncProperty(lives, async (all) => {
    const model = new Model();
    for (const each of all) await model.live(each);
    model.recover();
  });
  await fc.assert(property, { numRuns });
  t.pass('after every life');
});

/** @returns a log of several segments, of which the index has the first `filled` frames. */
async function aLog(sizes: readonly number[], filled: number): Promise<Model> {
  const model = new Model();
  const steps = sizes.map((bytes): Step => ({ do: 'append', bytes, fates: [] }));
  // The second step keeps the files of its frames: a release goes only up to the place before it.
  const half = filled >> 1;
  steps.splice(filled, 0, { do: 'fill', frames: half }, { do: 'fill', frames: filled - half });
  await model.live({ steps, revives: false, undoes: false });
  return model;
}

t.test('damage is refused unless it only takes the newest frames, and those all', async (t) => {
  const damage = fc.record({ place: fc.nat(), bytes: fc.integer({ min: 1, max: 700 }) });
  const sizes = fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 1, maxLength: 20 });
  let refused = 0;
  const property = fc.asyncProperty(
    sizes,
    fc.nat(20),
    damage,
    async (all, filled, { place, bytes }) => {
      const model = await aLog(all, filled);
      const files = [...model.disk.contents.values()];
      const lacking = model.acknowledged.filter(({ end }) => end > model.index.position);
      const file = files[place % files.length] as Buffer;
      const at = Math.floor(place / files.length) % file.length;
      for (let i = at; i < Math.min(file.length, at + bytes); i++) file[i] = ~(file[i] as number);
      try {
        const { stretches, frames } = recover(model.disk.find(), model.index);
        const contents = stretches.flatMap(({ segment, from, to }) =>
          framesOf(segment.read().subarray(from, to)),
        );
        const kept = lacking.slice(0, frames);
        if (contents.join() !== kept.map(({ content }) => content).join()) return false;
        // A whole frame among the lost ones would have proved the damage.
        const lost = lacking.slice(frames);
        return lost.every(({ content }) => !isWholeIn(files, content));
      } catch (error) {
        refused++;
        return error instanceof StoreRefused;
      }
    },
  );
  await fc.assert(property, { numRuns });
  t.ok(refused > numRuns / 20, `${refused} refused`);
});

function isWholeIn(files: readonly Buffer[], content: string): boolean {
  return files.some((file) =>
    [...findFrames(file, 0)].some(
      ({ offset, length }) =>
        file.toString('latin1', offset + frameHeaderBytes, offset + length) === content,
    ),
  );
}

const refusals: Record<string, { do: (model: Model) => unknown; says: RegExp }> = {
  'a segment that is gone': {
    do({ disk }) {
      const uses = disk.find().filter(({ header }) => header !== undefined);
      uses.sort((a, b) => (a.header?.sequence ?? 0) - (b.header?.sequence ?? 0));
      disk.contents.delete(uses.at(-2)?.path ?? '');
    },
    says: /acknowledged writes after others that cannot be read.*newest backup/,
  },
  'all segments gone': {
    do: ({ disk }) => disk.contents.clear(),
    says: /incomplete.*Put back the files that belong to this data.mdb/,
  },
  'segments that begin too late': {
    do: (model) => (model.index = { logId, position: 0 }),
    says: /incomplete/,
  },
  'a log that is older than the index': {
    do: (model) => (model.index = { logId, position: model.recover().end + 100 }),
    says: /older than its data.mdb.*Put back the files that belong to this data.mdb/,
  },
  'a log that is older than the index by a byte': {
    do: (model) => (model.index = { logId, position: model.recover().end + 1 }),
    says: /older than its data.mdb/,
  },
  'the log of another store': {
    do: (model) => (model.index = { ...model.index, logId: 'fedcba9876543210' }),
    says: /belongs to another store/,
  },
};
for (const [what, { do: damage, says }] of Object.entries(refusals)) {
  t.test(`${what}: refused with what to do`, async (t) => {
    const model = await aLog(new Array<number>(32).fill(1_000), 16);
    damage(model);
    t.throws(() => recover(model.disk.find(), model.index), {
      name: 'StoreRefused',
      message: says,
    });
  });
}

t.test('a torn frame is told, a clean end is not', async (t) => {
  const model = await aLog([100, 100], 0);
  t.equal(recover(model.disk.find(), model.index).isTorn, false);
  await model.live({
    steps: [
      { do: 'append', bytes: 2_000, fates: [{ kind: 'done' }, { kind: 'killed', sectors: 1 }] },
    ],
    revives: false,
    undoes: false,
  });
  t.match(recover(model.disk.find(), model.index), { isTorn: true, frames: 0 });
});

t.test('files are used again, however many lives there are and frames in them', async (t) => {
  const model = new Model();
  for (let i = 0; i < 30; i++) {
    const steps = new Array<Step[]>(20).fill([
      { do: 'append', bytes: 1_000, fates: [] },
      { do: 'fill', frames: 1 },
    ]);
    await model.live({ steps: steps.flat(), revives: false, undoes: false });
  }
  t.ok(model.disk.contents.size <= 5, `${model.disk.contents.size} files`);
  model.recover();
});
