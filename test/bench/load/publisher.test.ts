import t from 'tap';
import { NumberedBytes } from '../../../bench/load/numbered-bytes.js';
import { Publisher } from '../../../bench/load/publisher.js';
import { numberDigits, numberOrigin } from '../../../bench/load/sample-event.js';

const window = 8;

function publisherOf() {
  const writes: string[] = [];
  const event = new NumberedBytes(Buffer.from(String(numberOrigin)));
  const publisher = new Publisher(event, window, (bytes) => writes.push(bytes.toString()));
  const eventsOf = (write: string | undefined) => (write?.length ?? 0) / numberDigits;
  return { publisher, writes, eventsOf };
}

t.test('never more than the window is under way', (t) => {
  const { publisher, writes, eventsOf } = publisherOf();
  publisher.start();
  t.equal(eventsOf(writes[0]), window);
  publisher.acknowledge(window / 2 - 1);
  t.equal(writes.length, 1, 'less than half of it is free');
  publisher.acknowledge(window / 2);
  t.equal(eventsOf(writes[1]), window / 2);
  t.equal(publisher.sent - publisher.acknowledged, window);
  t.end();
});

t.test('events are numbered without a gap', (t) => {
  const { publisher, writes } = publisherOf();
  publisher.start();
  publisher.acknowledge(window);
  const numbers = writes.join('').match(/\d{10}/g) ?? [];
  t.strictSame(
    numbers.map(Number),
    Array.from({ length: 2 * window }, (_, index) => numberOrigin + 1 + index),
  );
  t.end();
});

t.test('a publisher that was stopped is still', (t) => {
  const { publisher, writes } = publisherOf();
  publisher.start();
  publisher.stop();
  publisher.acknowledge(window);
  t.equal(writes.length, 1);
  t.end();
});
