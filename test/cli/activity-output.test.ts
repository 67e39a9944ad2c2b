import { Writable } from 'node:stream';
import t from 'tap';
import { createActivityOutput, waitingMax } from '../../src/cli/activity-output.js';

/** An output whose reader takes a line only when it is asked to. */
class Pipe extends Writable {
  readonly taken: string[] = [];
  #take: () => void = () => undefined;

  constructor() {
    super({ decodeStrings: false });
  }

  override _write(text: string, _encoding: string, done: () => void): void {
    this.#take = () => {
      this.taken.push(text);
      done();
    };
  }

  async read(lines = Infinity): Promise<void> {
    for (let i = 0; i < lines && this.writableLength > 0; i++) {
      this.#take();
      await new Promise(setImmediate);
    }
  }
}

t.test('lines that nobody reads wait within a bound, others are dropped and counted', async (t) => {
  const pipe = new Pipe();
  const told: string[] = [];
  const print = createActivityOutput(pipe, (text) => told.push(text));
  const line = 'x'.repeat(waitingMax / 4);
  for (let i = 0; i < 5; i++) print(line);
  t.strictSame(told, []);
  for (let i = 0; i < 1_000; i++) print(line);
  t.equal(pipe.writableLength, 5 * line.length);
  t.strictSame(told.splice(0), ['Nobody reads the output: lines are dropped until it is read.\n']);
  await pipe.read(4);
  print(line);
  t.strictSame(told, [], 'until all that waits is taken');
  await pipe.read();
  t.equal(pipe.taken.length, 5);
  print('again');
  t.strictSame(told, ['The output is read again: 1001 lines were dropped.\n']);
  await pipe.read();
  t.equal(pipe.taken.at(-1), 'again');
});
