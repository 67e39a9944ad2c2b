/** Groups on their way to a log whose writes end when the test ends them. */
import t, { type Test } from 'tap';
import { nextTurn } from '../../src/lib/turn.js';
import { FrameMemory } from '../../src/store/frame-memory.js';
import { FrameWriter } from '../../src/store/frame-writer.js';
import { GroupCommit } from '../../src/store/group-commit.js';
import { eachChange } from '../../src/store/log/frame.js';
import type { Appended } from '../../src/store/log/log.js';
import { Overlay, type Seen } from '../../src/store/overlay.js';
import { StoreFailure, WriteRefused } from '../../src/store/store.js';
import { textOf } from '../../src/store/write-group.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { noGaps } from './no-gaps.js';

function setUp() {
  const clock = new SimulatedClock();
  const overlay = new Overlay();
  const memory = new FrameMemory();
  const frames: Buffer[] = [];
  const told: unknown[] = [];
  let isHeld = false;
  let underWay: Appended | undefined;
  const log = {
    end: 0,
    append(frame: Buffer, appended: Appended) {
      if (underWay !== undefined) throw new Error('two writes of the log at once');
      frames.push(Buffer.from(frame));
      underWay = appended;
    },
  };
  const commits = new GroupCommit({
    clock,
    log,
    overlay,
    memory,
    isHeld: () => isHeld,
    onBegin: () => undefined,
    onFlushed: (group) => told.push(`flushed ${group.versions.length}`),
    onCommit: (failure) => told.push(failure === undefined),
    commitLatency: undefined,
    flushLatency: undefined,
  });
  const writer = new FrameWriter({ commits, memory, overlay, gaps: noGaps });
  const put = (key: string, value: number): Promise<unknown> => {
    writer.run((batch) => batch.put('meta', key, value));
    const settled = writer.group?.settled;
    return Promise.resolve(settled).then(
      () => told.push(`${key} resolved`),
      (error: unknown) => told.push(`${key} ${(error as Error).name}`),
    );
  };
  const keysIn = (frame: Buffer | undefined): number => {
    let count = 0;
    if (frame !== undefined) eachChange(frame, () => count++);
    return count;
  };
  return {
    clock,
    commits,
    frames,
    told,
    writer,
    put,
    keysIn,
    hold: (held: boolean) => (isHeld = held),
    /** Ends the write of the log that is under way. */
    end: (failure?: StoreFailure): void => {
      const appended = underWay;
      underWay = undefined;
      if (failure === undefined) log.end += frames.at(-1)?.length ?? 0;
      appended?.(failure);
    },
    seen: (key: string, seen: Seen = 'flushed'): string | undefined => {
      const version = overlay.get('meta', key, seen);
      return version === undefined ? undefined : textOf(version);
    },
  };
}

t.test('what comes while a group is written is the next one', async (t) => {
  const { put, frames, keysIn, end, told } = setUp();
  void put('a', 1);
  void put('b', 1);
  t.equal(frames.length, 0, 'until the end of the turn');
  await nextTurn();
  void put('c', 1);
  await nextTurn();
  void put('d', 1);
  await nextTurn();
  t.same(frames.map(keysIn), [2]);
  end();
  await nextTurn();
  t.same(frames.map(keysIn), [2, 2]);
  end();
  await nextTurn();
  await nextTurn();
  t.same(told.filter((each) => typeof each === 'string' && each.includes('resolved')).length, 4);
});

for (const failure of [undefined, new StoreFailure('EIO')]) {
  const what = failure === undefined ? 'succeeded' : 'failed';
  t.test(`the outcome of a write that ${what} is told at the end of a turn`, async (t) => {
    const { put, end, told, seen } = setUp();
    void put('a', 1);
    await nextTurn();
    end(failure);
    for (let i = 0; i < 50; i++) await Promise.resolve();
    t.strictSame(told, [], 'whatever callback this is, it goes to its end');
    t.equal(seen('a'), undefined);
    await nextTurn();
    await nextTurn();
    t.same(
      new Set(told),
      new Set(
        failure === undefined ? ['flushed 1', true, 'a resolved'] : [false, 'a StoreFailure'],
      ),
    );
    t.equal(seen('a'), failure === undefined ? '1' : undefined);
  });
}

t.test('after a failure what waited is refused, and what was there before is seen', async (t) => {
  const { put, end, told, seen, frames, commits } = setUp();
  void put('a', 1);
  await nextTurn();
  end();
  await nextTurn();
  void put('a', 2);
  void put('b', 2);
  await nextTurn();
  void put('a', 3);
  void put('b', 3);
  t.equal(seen('a', 'written'), '3');
  end(new StoreFailure('EIO'));
  await nextTurn();
  await nextTurn();
  for (const versions of ['flushed', 'written'] as const) {
    t.equal(seen('a', versions), '1');
    t.equal(seen('b', versions), undefined);
  }
  t.same(told.slice(3).sort(), [
    'a StoreFailure',
    'a WriteRefused',
    'b StoreFailure',
    'b WriteRefused',
    false,
  ]);
  t.match(commits.failure, { message: 'EIO' });
  void put('a', 4);
  await nextTurn();
  t.equal(frames.length, 3);
  end();
  await nextTurn();
  t.equal(seen('a'), '4');
  t.equal(commits.failure, undefined);
});

t.test('a log that has no room refuses the group and what waits behind it', async (t) => {
  const { put, end, told, commits } = setUp();
  void put('a', 1);
  await nextTurn();
  void put('b', 1);
  end(new WriteRefused('no segment'));
  await nextTurn();
  await nextTurn();
  t.same(told.sort(), ['a WriteRefused', 'b WriteRefused', false]);
  t.equal(commits.failure, undefined, 'the index may still make room');
});

t.test('a write that throws half-way leaves nothing in its group', async (t) => {
  const { put, writer, frames, keysIn, seen, commits, told } = setUp();
  void put('a', 1);
  t.throws(() =>
    writer.run((batch) => {
      batch.put('meta', 'a', 2);
      batch.put('meta', 'b', 2);
      throw new Error('bug');
    }),
  );
  t.equal(seen('a', 'written'), '1');
  t.equal(seen('b', 'written'), undefined);
  await nextTurn();
  t.same(frames.map(keysIn), [1]);
  t.equal(commits.ageMs(), 0);
  t.same(told, []);
});

/** A write of which nothing is left. */
function throwHalfWay(t: Test, writer: FrameWriter, key: string): void {
  t.throws(() =>
    writer.run((batch) => {
      batch.put('meta', key, 1);
      throw new Error('bug');
    }),
  );
}

t.test('a group of which nothing is left is not written', async (t) => {
  const { writer, frames, commits } = setUp();
  throwHalfWay(t, writer, 'a');
  await commits.idle();
  t.same(frames, []);
});

t.test('a group of which nothing is left does not fail with the one before it', async (t) => {
  const { writer, put, end, commits, told } = setUp();
  void put('a', 1);
  await nextTurn();
  throwHalfWay(t, writer, 'b');
  end(new StoreFailure('EIO'));
  await commits.idle();
  await nextTurn();
  t.same(told, [false, 'a StoreFailure'], 'nobody would take the failure of the other one');
});

t.test(
  'a reader of writes under way does not wait for a group of which nothing is left',
  async (t) => {
    const { writer, put, end, commits } = setUp();
    void put('a', 1);
    await nextTurn();
    throwHalfWay(t, writer, 'b');
    const read = commits.last?.settled ?? Promise.resolve();
    end(new StoreFailure('EIO'));
    await t.rejects(read, { message: 'EIO' }, 'what it has read is not on disk');
  },
);

t.test('a group waits while it is held, and its age grows', async (t) => {
  const { clock, put, hold, frames, commits } = setUp();
  hold(true);
  void put('a', 1);
  await nextTurn();
  clock.advance(3_000);
  t.same(frames, []);
  t.equal(commits.ageMs(), 3_000);
  hold(false);
  commits.next();
  await nextTurn();
  t.equal(frames.length, 1);
});

t.test('the age is that of the oldest group whose outcome is not told', async (t) => {
  const { clock, put, commits, end } = setUp();
  t.equal(commits.ageMs(), 0);
  const first = put('a', 1);
  await nextTurn();
  clock.advance(10);
  const second = put('b', 1);
  clock.advance(5);
  t.equal(commits.ageMs(), 15);
  end();
  await first;
  t.equal(commits.ageMs(), 5);
  end();
  await second;
  t.equal(commits.ageMs(), 0);
  await commits.idle();
});
