import t from 'tap';
import { bytesOf, FrameMemory, type FrameSpan } from '../../src/store/frame-memory.js';

const mebibyte = 2 ** 20;

function append(memory: FrameMemory, span: FrameSpan, text: string): void {
  memory.reserve(span, text.length);
  span.end += span.block.bytes.write(text, span.end);
}

t.test('frames lie one behind the other, and grow without harm to each other', (t) => {
  const memory = new FrameMemory();
  const first = memory.begin();
  append(memory, first, 'first');
  memory.close(first);
  const second = memory.begin();
  t.equal(second.block, first.block);
  t.equal(second.start, first.end);
  append(memory, second, 'x'.repeat(3 * mebibyte));
  append(memory, second, 'end');
  t.not(second.block, first.block, 'moved as a whole');
  t.match(bytesOf(second).subarray(40).toString('latin1'), /^x+end$/);
  t.equal(bytesOf(first).subarray(40).toString('latin1'), 'first');
  t.end();
});

t.test('a block is used again when all of its frames are gone, and not before', (t) => {
  const memory = new FrameMemory();
  const spans: FrameSpan[] = [];
  const blocks = (): number => new Set(spans.map(({ block }) => block)).size;
  for (let i = 0; i < 4; i++) {
    const span = memory.begin();
    append(memory, span, `${i}`.repeat(mebibyte * 0.4));
    memory.close(span);
    spans.push(span);
  }
  t.equal(blocks(), 2);
  memory.free(spans[0] as FrameSpan);
  const third = memory.begin();
  append(memory, third, 'z'.repeat(mebibyte * 0.4));
  memory.close(third);
  t.not(third.block, spans[1]?.block);
  t.match(
    bytesOf(spans[1] as FrameSpan)
      .subarray(40)
      .toString('latin1'),
    /^1+$/,
  );
  memory.free(spans[1] as FrameSpan);
  const fourth = memory.begin();
  append(memory, fourth, 'z'.repeat(mebibyte * 0.4));
  memory.close(fourth);
  const fifth = memory.begin();
  append(memory, fifth, 'z'.repeat(mebibyte * 0.4));
  t.equal(fifth.block, spans[0]?.block, 'the first one again');
  t.end();
});

t.test('the memory of a large frame is given back when the frame is gone', (t) => {
  const memory = new FrameMemory();
  const large = memory.begin();
  append(memory, large, 'x'.repeat(20 * mebibyte));
  memory.close(large);
  t.ok(large.block.bytes.length > 20 * mebibyte);
  memory.free(large);
  const next = memory.begin();
  t.equal(next.block.bytes.length, mebibyte);
  t.equal(next.start, 0);
  t.end();
});

t.test('threads share it', (t) => {
  t.type(new FrameMemory().begin().block.bytes.buffer, SharedArrayBuffer);
  t.end();
});
