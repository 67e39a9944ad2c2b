import t from 'tap';
import {
  createLineWriter,
  type LineWriter,
  retryMs,
  waitingBytesMax,
} from '../../src/telemetry/line-writer.js';
import { SimulatedClock } from '../support/simulated-clock.js';

interface Pipe {
  readonly clock: SimulatedClock;
  readonly writer: LineWriter;
  /** Bytes that it still takes. */
  room: number;
  text: string;
  tries: number;
}

function createPipe(failure = 'EAGAIN'): Pipe {
  const clock = new SimulatedClock();
  const write = (bytes: Uint8Array): number => {
    pipe.tries++;
    if (pipe.room === 0) throw Object.assign(new Error(failure), { code: failure });
    const taken = bytes.subarray(0, pipe.room);
    pipe.room -= taken.length;
    pipe.text += Buffer.from(taken).toString('latin1');
    return taken.length;
  };
  const onDropped = (lines: number): void => writer.write(`dropped ${lines}\n`);
  const writer = createLineWriter({ write, clock, onDropped });
  const pipe: Pipe = { clock, writer, room: Infinity, text: '', tries: 0 };
  return pipe;
}

t.test('a line is written in the turn that writes it', (t) => {
  const pipe = createPipe();
  pipe.writer.write('a\n');
  t.equal(pipe.text, 'a\n');
  t.equal(pipe.clock.timerCount, 0);
  t.end();
});

t.test('lines that a reader does not take yet come later, in order and each whole', (t) => {
  const pipe = createPipe();
  pipe.room = 3;
  for (const line of ['one\n', 'two\n', 'three\n']) pipe.writer.write(line);
  t.equal(pipe.text, 'one');
  pipe.room = 4;
  pipe.clock.advance(retryMs);
  t.equal(pipe.text, 'one\ntwo');
  pipe.room = Infinity;
  pipe.writer.write('four\n');
  pipe.clock.advance(retryMs);
  t.equal(pipe.text, 'one\ntwo\nthree\nfour\n');
  t.equal(pipe.clock.timerCount, 0);
  t.end();
});

/** A reader that takes nothing, while more lines are written than may wait. */
function overflown() {
  const pipe = createPipe();
  pipe.room = 0;
  const line = `${'x'.repeat(1023)}\n`;
  const kept = waitingBytesMax / line.length;
  for (let count = 0; count < kept + 7; count++) pipe.writer.write(line);
  return { pipe, told: `${line.repeat(kept)}dropped 7\n` };
}

t.test('beyond what may wait lines are dropped, and counted once the reader goes on', (t) => {
  const { pipe, told } = overflown();
  t.equal(pipe.tries, 1, 'a write does not try again what the timer will');
  pipe.room = Infinity;
  pipe.clock.advance(retryMs);
  t.equal(pipe.text, told);
  pipe.writer.write('next\n');
  t.match(pipe.text, /dropped 7\nnext\n$/);
  t.end();
});

t.test('the exit tells the lines that were dropped, and waits until that is taken, too', (t) => {
  const { pipe, told } = overflown();
  pipe.room = Infinity;
  pipe.writer.flush();
  t.equal(pipe.text, told);
  t.end();
});

t.test('a disk that was full gets the lines when it has space', (t) => {
  const pipe = createPipe('ENOSPC');
  pipe.room = 1;
  pipe.writer.write('a\n');
  pipe.writer.flush();
  t.equal(pipe.text, 'a', 'the exit does not wait for a disk');
  pipe.room = Infinity;
  pipe.clock.advance(retryMs);
  t.equal(pipe.text, 'a\n');
  t.end();
});
