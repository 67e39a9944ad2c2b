import t from 'tap';
import { AnswerCounter } from '../../../bench/load/answer-counter.js';

const answers = [
  'HTTP/1.1 202 Accepted\r\nContent-Length: 4\r\n\r\nbody',
  'HTTP/1.1 413 Request Entity Too Large\r\nContent-Length: 0\r\n\r\n',
  'HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\nbody',
];

t.test('answers are counted once, wherever reads cut them', (t) => {
  const bytes = Buffer.from(answers.join(''));
  for (let size = 1; size <= bytes.length; size++) {
    const counter = new AnswerCounter();
    for (let at = 0; at < bytes.length; at += size) counter.take(bytes.subarray(at, at + size));
    t.match(counter, { succeeded: 2, failed: 1 }, `in pieces of ${size} bytes`);
  }
  t.end();
});
