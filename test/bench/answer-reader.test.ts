import t from 'tap';
import { AnswerReader } from '../../bench/load/answer-reader.js';

const answer = 'HTTP/1.1 202 Accepted\r\nX-Trace-Id: 1\r\nContent-Length: 7\r\n\r\n{"a":1}';

/** Puts the bytes where the generator has them: at the front of a buffer that held others before. */
function feed(reader: AnswerReader, text: string): number {
  const buffer = Buffer.alloc(512, 'HTTP/1.1 500 Stale\r\nContent-Length: 0\r\n\r\n');
  const length = buffer.write(text, 'latin1');
  return reader.read(buffer, length);
}

t.test(
  'an answer is whole at its last byte, wherever it was cut, and the next one is read alike',
  async (t) => {
    for (let cut = 1; cut < answer.length; cut++) {
      const reader = new AnswerReader();
      t.equal(feed(reader, answer.slice(0, cut)), 0, `cut at ${cut}`);
      t.equal(feed(reader, answer.slice(cut)), 202, `cut at ${cut}`);
      t.equal(feed(reader, answer), 202, `after a cut at ${cut}`);
    }
  },
);

t.test('a header in lower case and an empty body are understood', async (t) => {
  const reader = new AnswerReader();
  t.equal(feed(reader, 'HTTP/1.1 429 Too Many\r\ncontent-length: 0\r\n\r\n'), 429);
});

t.test('what is not understood is an error, never a count', async (t) => {
  t.throws(() => feed(new AnswerReader(), `${answer}H`), /more came/);
  const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
  t.throws(() => feed(new AnswerReader(), chunked), /without a length/);
  t.throws(() => feed(new AnswerReader(), 'gibberish\r\n\r\n'), /no number/);
});
