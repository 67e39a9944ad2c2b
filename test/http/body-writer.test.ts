/** Bodies of responses whose client reads late, or never. */
import t from 'tap';
import { type OwedBody, unsentMsMax, writeBody } from '../../src/http/body-writer.js';
import { bearer } from '../support/api.js';
import { eventually } from '../support/eventually.js';
import { startTestGateway } from '../support/gateway.js';
import { serve } from '../native/tiny-app.js';
import { RawClient, request } from '../support/raw-client.js';
import { RecordedResponse } from '../support/recorded-response.js';
import { SimulatedClock } from '../support/simulated-clock.js';

const body = 'é'.repeat(100);
/** Started before the first test: tap ends as soon as nothing is left to run. */
const gateway = await startTestGateway(t);

interface WriteOptions {
  /** Bytes that the socket takes at a time. */
  readonly takes?: number;
  readonly bytes?: string | Uint8Array;
  readonly unsentBytesMax?: number;
}

function write({ takes = Infinity, bytes = body, unsentBytesMax = 150 }: WriteOptions = {}) {
  const response = new RecordedResponse();
  response.takes = takes;
  const clock = new SimulatedClock();
  const written = writeBody(response.native, bytes, { clock, unsentBytesMax, owed: new Set() });
  return { response, clock, written };
}

t.test('what the socket does not take waits, and leaves when the client reads', async (t) => {
  const { response, written } = write({ takes: 60 });
  t.ok(written);
  t.equal(response.isEnded, false);
  for (let count = 0; count < 3; count++) response.drain();
  t.equal(response.isEnded, true);
  t.equal(response.body, body);
});

t.test('bytes that others use afterwards leave as they were', async (t) => {
  const shared = Buffer.from(body);
  const { response } = write({ takes: 60, bytes: shared });
  shared.fill(0);
  for (let count = 0; count < 3; count++) response.drain();
  t.equal(response.body, body);
});

t.test('a body that the socket takes is over at once', async (t) => {
  const { response, written } = write({ unsentBytesMax: 0 });
  t.equal(written, undefined);
  t.equal(response.isEnded, true);
});

t.test(
  'an answer of which nothing counts as sent at first, as over TLS, reaches its client',
  async (t) => {
    const { response, written } = write({ takes: 0 });
    t.ok(written);
    response.drain();
    t.equal(response.isClosed, false);
    response.takes = Infinity;
    response.drain();
    t.equal(response.body, body);
    t.equal(response.isEnded, true);
  },
);

t.test('while more than the bound waits, the client has five seconds for each part', async (t) => {
  const { response, clock } = write({ takes: 20 });
  for (const unsent of [160, 140]) {
    clock.advance(unsentMsMax - 1);
    t.equal(response.isClosed, false);
    response.drain();
    t.equal(response.getWriteOffset(), 200 - unsent);
  }
  clock.advance(60_000);
  t.equal(response.isClosed, false, 'the rest is within the bound');
  const unread = write({ takes: 20 });
  unread.clock.advance(unsentMsMax);
  t.equal(unread.response.isClosed, true);
});

t.test('nothing is closed of a client that has taken all, or has left', async (t) => {
  const all = write({ takes: 40 });
  all.response.takes = 160;
  all.response.drain();
  const left = write({ takes: 40 });
  left.written?.drop();
  for (const { response, clock } of [all, left]) {
    clock.advance(60_000);
    t.equal(response.isClosed, false);
  }
});

t.test('a client that sends request after request and reads nothing is cut off', async (t) => {
  const client = await RawClient.connect(gateway.url);
  client.socket.pause();
  const burst = request('GET', '/nothing').repeat(1_000);
  let sent = 0;
  const ended = new Promise<void>((resolve) => client.socket.on('close', () => resolve()));
  const more = (): void => {
    while (sent < 100_000 && !client.socket.destroyed && client.socket.write(burst)) sent++;
  };
  client.socket.on('drain', more);
  more();
  await ended;
  t.ok(sent < 100_000, `after ${sent} thousand`);
  const user = await gateway.user();
  const other = await fetch(`${gateway.url}/api/v1/signals`, { headers: bearer(user.key) });
  t.equal(other.status, 200, 'nobody else notices');
});

t.test('heads that nobody reads are so many; then their connection ends', async (t) => {
  const { url } = await startTestGateway(t);
  const unread = await RawClient.connect(url);
  const reader = await RawClient.connect(url);
  unread.socket.pause();
  const perTurn = 50;
  let sent = 0;
  for (; sent < 5_000 && !unread.socket.destroyed; sent += perTurn) {
    await unread.send(request('HEAD', '/nothing').repeat(perTurn));
    // The reader's answer shows that the gateway has handled the heads before.
    await reader.send(request('GET', '/nothing'));
    t.equal((await reader.answer())?.status, 404);
  }
  t.ok(sent < 1_000, `${sent} heads`);
  // That connection may have ended because the system had no room for so many answers.
  let more = 0;
  for (let isOpen = true; isOpen && more <= 600; more++) {
    await reader.send(request('HEAD', '/nothing'));
    isOpen = (await reader.answer({ isHead: true }))?.headers['connection'] === undefined;
  }
  t.ok(more <= 600, `${more} heads of another connection of the address`);
  await reader.closed();
});

t.test('a client that reads late gets all of a long answer', async (t) => {
  const whole = await (await fetch(`${gateway.url}/openapi.json`)).text();
  const client = await RawClient.connect(gateway.url);
  client.socket.pause();
  await client.send(request('GET', '/openapi.json'));
  await new Promise((resolve) => setImmediate(resolve));
  client.socket.resume();
  const answer = await client.answer({ request: { method: 'GET', path: '/openapi.json' } });
  t.equal(answer?.body, whole);
  client.cut();
});

t.test('an answer far above the bound reaches a client that reads, and no other', async (t) => {
  // The system takes some 10 MB for a reader that does not read.
  const bytes = Buffer.alloc(30_000_000, 'x');
  const clock = new SimulatedClock();
  const bounds = { clock, unsentBytesMax: 1_000_000, owed: new Set<OwedBody>() };
  const { url } = await serve(t, (app) => {
    app.get('/', (res) => {
      let written: OwedBody | undefined;
      res.onAborted(() => {
        written?.drop();
      });
      res.cork(() => (written = writeBody(res, bytes, bounds)));
    });
  });
  const answer = await fetch(url);
  t.equal((await answer.arrayBuffer()).byteLength, bytes.length);
  t.equal(clock.timerCount, 0);
  const unread = await RawClient.connect(url);
  unread.socket.pause();
  await unread.send(request('GET', '/'));
  await eventually(() => clock.timerCount === 1);
  clock.advance(unsentMsMax);
  unread.socket.resume();
  t.ok((await unread.closed()).length < bytes.length);
});
