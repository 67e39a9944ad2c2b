import t from 'tap';
import { SseWriter } from '../../src/http/sse-writer.js';
import { RecordedResponse } from '../support/recorded-response.js';

function setUp() {
  const response = new RecordedResponse();
  const ends: string[] = [];
  let drains = 0;
  const writer = new SseWriter(response.native, {
    onDrained: () => drains++,
    onClosed: (end) => ends.push(end),
  });
  return { response, writer, ends, drains: () => drains };
}

const bytes = (text: string): Uint8Array => Buffer.from(text);

t.test('no write is larger than the native server takes within one cork', async (t) => {
  const { response, writer } = setUp();
  const text = 'x'.repeat(40 * 1024);
  writer.write(bytes(text));
  t.same(
    response.written.map(({ length }) => length),
    [15, 15, 10].map((kib) => kib * 1024),
  );
  t.equal(response.written.join(''), text);
});

t.test('while the socket is blocked nothing is written, and then the rest in order', async (t) => {
  const { response, writer, drains } = setUp();
  response.isWritable = false;
  writer.write(bytes('first'));
  t.equal(writer.isBlocked(), true);
  writer.write(bytes(' second'));
  writer.write(bytes(' third'));
  writer.keepAlive();
  t.same(response.written, ['first']);
  response.drain();
  t.same(response.written, ['first', ' second third']);
  t.equal(writer.isBlocked(), false);
  t.equal(drains(), 1);
});

t.test('what waits for the socket is a copy: the caller may use its bytes again', async (t) => {
  const { response, writer } = setUp();
  const caller = bytes('x'.repeat(40 * 1024));
  response.isWritable = false;
  writer.write(caller);
  caller.fill(0);
  response.drain();
  t.equal(response.written.join(''), 'x'.repeat(40 * 1024));
});

t.test('a socket that drains with nothing left is probed with a comment', async (t) => {
  const { response, writer, drains } = setUp();
  response.isWritable = false;
  writer.write(bytes('first'));
  response.drain();
  t.same(response.written, ['first', ':\n\n']);
  t.equal(drains(), 1);
});

t.test('a socket that takes only some of the rest has not drained', async (t) => {
  const { response, writer, drains } = setUp();
  response.isWritable = false;
  writer.write(bytes('first'));
  writer.write(bytes(' second'));
  response.drain(false);
  t.same(response.written, ['first', ' second']);
  t.equal(writer.isBlocked(), true);
  t.equal(drains(), 0);
});

t.test('a comment keeps a silent stream alive', async (t) => {
  const { response, writer } = setUp();
  writer.keepAlive();
  t.same(response.written, [':\n\n']);
});

t.test('it ends once, with its last words, and takes nothing after that', async (t) => {
  const { response, writer, ends } = setUp();
  writer.end('retry: 5\n\n');
  t.same(response.written, ['retry: 5\n\n']);
  t.equal(response.isEnded, true);
  writer.end();
  writer.write(bytes('late'));
  writer.keepAlive();
  writer.abort();
  writer.closed();
  response.drain();
  t.same(response.written, ['retry: 5\n\n']);
  t.same(ends, ['ended']);
  t.equal(writer.isClosed(), true);
});

t.test('the last words are left out where the socket is blocked', async (t) => {
  const { response, writer } = setUp();
  response.isWritable = false;
  writer.write(bytes('first'));
  writer.end('last words');
  t.same(response.written, ['first']);
  t.equal(response.isEnded, true);
});

t.test('an abort closes the connection, and a client that is gone is told as such', async (t) => {
  const aborted = setUp();
  aborted.writer.abort();
  t.equal(aborted.response.isClosed, true);
  t.same(aborted.ends, ['aborted']);
  const left = setUp();
  left.writer.closed();
  left.writer.write(bytes('late'));
  t.same(left.response.written, []);
  t.same(left.ends, ['left']);
});
