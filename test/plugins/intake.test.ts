import t from 'tap';
import { Intake, type FrameReader } from '../../src/plugins/intake.js';
import { nextTurn, type Steps } from '../../src/lib/turn.js';
import { SimulatedClock } from '../support/simulated-clock.js';

class Reader implements FrameReader {
  isClosed = false;
  heardCount = 0;
  readonly read: string[] = [];
  readonly session: { readonly userId: string };

  constructor(
    userId: string,
    readonly log: string[] = [],
  ) {
    this.session = { userId };
  }

  heard(): void {
    this.heardCount++;
  }

  closed(): void {
    this.isClosed = true;
    this.log.push(`${this.session.userId} closed`);
  }

  receive(bytes: Uint8Array): Steps | undefined {
    const text = Buffer.from(bytes).toString();
    if (text.startsWith('slow')) clock.advance(0.4);
    if (text === 'throw') throw new Error('a bug');
    if (text.startsWith('long')) return this.#steps(text);
    this.#handled(text);
    return undefined;
  }

  *#steps(text: string): Steps {
    for (const part of ['first', 'second']) {
      this.#handled(`${text} ${part}`);
      clock.advance(0.6);
      yield;
      if (text === 'long throw') throw new Error('a bug');
    }
    this.#handled(`${text} last`);
  }

  #handled(text: string): void {
    this.read.push(text);
    this.log.push(`${this.session.userId} ${text}`);
  }
}

const bytesOf = (text: string): ArrayBuffer => new Uint8Array(Buffer.from(text)).buffer;
const clock = new SimulatedClock();
const fail = (error: unknown): void => {
  throw error;
};

function fill(intake: Intake, reader: Reader, count: number): void {
  for (let index = 0; index < count; index++) intake.take(reader, bytesOf(`${index}`), false);
}

t.test('a turn handles so many frames, and the others wait, in order', async (t) => {
  const intake = new Intake(clock, fail);
  const reader = new Reader('u1');
  fill(intake, reader, 200);
  t.equal(reader.read.length, 64);
  await nextTurn();
  t.equal(reader.read.length, 128);
  t.ok(intake.waitingBytes > 0);
  await nextTurn();
  await nextTurn();
  t.strictSame(
    reader.read,
    Array.from({ length: 200 }, (_, index) => `${index}`),
  );
  t.equal(intake.waitingBytes, 0);
});

t.test('a close ends its connection behind the frames that came before it', async (t) => {
  const intake = new Intake(clock, fail);
  const log: string[] = [];
  const [left, next] = [new Reader('u1', log), new Reader('u1', log)];
  fill(intake, left, 66);
  intake.close(left);
  intake.take(next, bytesOf('hello'), false);
  t.equal(left.isClosed, false);
  await nextTurn();
  t.strictSame(log.slice(-4), ['u1 64', 'u1 65', 'u1 closed', 'u1 hello']);
  t.equal(intake.waitingBytes, 0);
  await nextTurn();
  intake.close(next);
  t.equal(next.isClosed, true, 'at once where nothing waits');
});

t.test('a large frame counts as many', async (t) => {
  const intake = new Intake(clock, fail);
  const reader = new Reader('u1');
  const large = bytesOf('x'.repeat(64 * 1024));
  t.equal(intake.take(reader, large, false), 'handled');
  t.equal(intake.take(reader, bytesOf('next'), false), 'waiting');
  await nextTurn();
  t.equal(reader.read[1], 'next');
});

t.test('a turn ends early when its frames take long, and the others wait, in order', async (t) => {
  const intake = new Intake(clock, fail);
  const reader = new Reader('u1');
  for (let index = 0; index < 9; index++) intake.take(reader, bytesOf(`slow ${index}`), false);
  t.equal(reader.read.length, 3, 'a millisecond and what had begun');
  await nextTurn();
  t.equal(reader.read.length, 6);
  await nextTurn();
  t.strictSame(
    reader.read,
    Array.from({ length: 9 }, (_, index) => `slow ${index}`),
  );
});

t.test('a connection is told once in a turn that its frames wait', async (t) => {
  const intake = new Intake(clock, fail);
  const reader = new Reader('u1');
  fill(intake, reader, 64);
  t.equal(reader.heardCount, 0, 'none waits');
  fill(intake, reader, 1_000);
  t.equal(reader.heardCount, 1);
  await nextTurn();
  fill(intake, reader, 1_000);
  t.equal(reader.heardCount, 2);
  reader.isClosed = true;
  await nextTurn();
});

t.test('frames of all sizes come as they were sent', async (t) => {
  const intake = new Intake(clock, fail);
  const reader = new Reader('u1');
  fill(intake, reader, 64);
  const sent = Array.from({ length: 300 }, (_, index) => `${index}`.repeat((index * 37) % 900));
  sent[150] = 'x'.repeat(128 * 1024);
  for (const text of sent) intake.take(reader, bytesOf(text), false);
  while (intake.waitingBytes > 0) await nextTurn();
  t.strictSame(reader.read.slice(64), sent);
});

t.test('a frame that waits does not change when the native buffer does', async (t) => {
  const intake = new Intake(clock, fail);
  const reader = new Reader('u1');
  fill(intake, reader, 64);
  const bytes = bytesOf('before');
  intake.take(reader, bytes, false);
  new Uint8Array(bytes).fill(0);
  await nextTurn();
  t.equal(reader.read.at(-1), 'before');
});

t.test('a user that waits is not behind the flood of another', async (t) => {
  const intake = new Intake(clock, fail);
  const log: string[] = [];
  const flooder = new Reader('flooder', log);
  fill(intake, flooder, 5_000);
  const bystander = new Reader('bystander', log);
  t.equal(intake.take(bystander, bytesOf('order'), false), 'waiting', 'this turn is used up');
  await nextTurn();
  t.ok(log.indexOf('bystander order') <= 64 + 16, 'it comes second in the next one');
});

t.test('waiting users take turns, with some of the frames of each together', async (t) => {
  const intake = new Intake(clock, fail);
  const log: string[] = [];
  fill(intake, new Reader('first', log), 100);
  for (const user of ['second', 'third']) fill(intake, new Reader(user, log), 20);
  log.length = 0;
  await nextTurn();
  const users = log.map((line) => line.split(' ')[0]);
  const runs = users.filter((user, index) => user !== users[index - 1]);
  t.strictSame(runs, ['first', 'second', 'third', 'first']);
  t.equal(users.filter((user) => user === 'second').length, 16);
});

t.test('frames of a connection that has ended are dropped', async (t) => {
  const intake = new Intake(clock, fail);
  const reader = new Reader('u1');
  fill(intake, reader, 5_000);
  reader.isClosed = true;
  await nextTurn();
  t.equal(reader.read.length, 64);
  t.equal(intake.waitingBytes, 0);
});

t.test('when too much waits, a user with more than its share is refused', async (t) => {
  const intake = new Intake(clock, fail);
  const flooder = new Reader('flooder');
  const large = bytesOf('x'.repeat(128 * 1024));
  let taken = 0;
  while (intake.take(flooder, large, false) !== 'refused') taken++;
  t.ok(taken > 250 && taken < 260, `${taken} frames of 128 KiB, about 32 MiB`);
  t.equal(intake.take(new Reader('bystander'), bytesOf('order'), false), 'waiting');
  flooder.isClosed = true;
  await nextTurn();
});

t.test('what was handled is not part of a user’s share', async (t) => {
  const intake = new Intake(clock, fail);
  const large = bytesOf('x'.repeat(128 * 1024));
  const [steady, flooder] = [new Reader('steady'), new Reader('flooder')];
  for (let index = 0; index < 160; index++) intake.take(steady, large, false);
  while (steady.read.length < 158) await nextTurn();
  while (intake.take(flooder, large, false) !== 'refused');
  t.equal(intake.take(steady, bytesOf('order'), false), 'waiting');
  flooder.isClosed = true;
  while (intake.waitingBytes > 0) await nextTurn();
  t.equal(steady.read.at(-1), 'order');
});

t.test('a failure in a later turn is told, and the next frame is handled', async (t) => {
  const errors: unknown[] = [];
  const intake = new Intake(clock, (error) => errors.push(error));
  const reader = new Reader('u1');
  fill(intake, reader, 64);
  intake.take(reader, bytesOf('throw'), false);
  intake.take(reader, bytesOf('after'), false);
  await nextTurn();
  t.match(errors, [{ message: 'a bug' }]);
  t.equal(reader.read.at(-1), 'after');
});

t.test(
  'a frame that takes long is handled in steps, before the next one of its user',
  async (t) => {
    const intake = new Intake(clock, fail);
    const log: string[] = [];
    const [slow, other] = [new Reader('slow', log), new Reader('other', log)];
    t.equal(intake.take(slow, bytesOf('long'), false), 'handled');
    t.equal(intake.take(slow, bytesOf('next'), false), 'waiting');
    intake.close(slow);
    t.equal(intake.take(other, bytesOf('order'), false), 'handled', 'another user does not wait');
    t.strictSame(log, ['other order']);
    await nextTurn();
    t.strictSame(log.slice(1), ['slow long first', 'slow long second']);
    await nextTurn();
    t.strictSame(log.slice(3), ['slow long last', 'slow next', 'slow closed']);
  },
);

t.test(
  'a long frame whose step fails, or whose connection ends, is not gone on with',
  async (t) => {
    const errors: unknown[] = [];
    const intake = new Intake(clock, (error) => errors.push(error));
    const [failing, ended] = [new Reader('u1'), new Reader('u2')];
    for (const [reader, text] of [
      [failing, 'long throw'],
      [ended, 'long'],
    ] as const) {
      intake.take(reader, bytesOf(text), false);
      intake.take(reader, bytesOf('after'), false);
    }
    await nextTurn();
    ended.isClosed = true;
    await nextTurn();
    await nextTurn();
    t.match(errors, [{ message: 'a bug' }]);
    t.strictSame([failing.read, ended.read], [['long throw first', 'after'], ['long first']]);
  },
);
