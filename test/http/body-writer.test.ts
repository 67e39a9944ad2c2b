/** Bodies of responses whose client reads late, or never. */
import t from 'tap';
import { writeBody } from '../../src/http/body-writer.js';
import { bearer } from '../support/api.js';
import { startTestGateway } from '../support/gateway.js';
import { RawClient, request } from '../support/raw-client.js';
import { RecordedResponse } from '../support/recorded-response.js';

const body = 'é'.repeat(100);
const bytesMax = 150;
/** Before the first test: tap ends where there is nothing left to run. */
const gateway = await startTestGateway(t);

t.test('what the socket does not take waits, and leaves when the client reads', async (t) => {
  const response = new RecordedResponse();
  response.takes = 60;
  t.equal(writeBody(response.native, body, bytesMax), 'owed');
  t.equal(response.isEnded, false);
  for (let count = 0; count < 3; count++) response.drain();
  t.equal(response.isEnded, true);
  t.equal(response.body, body);
});

t.test('bytes that others use afterwards leave as they were', async (t) => {
  const response = new RecordedResponse();
  response.takes = 60;
  const shared = Buffer.from(body);
  t.equal(writeBody(response.native, shared, bytesMax), 'owed');
  shared.fill(0);
  for (let count = 0; count < 3; count++) response.drain();
  t.equal(response.body, body);
});

t.test('a body that the socket takes is over at once', async (t) => {
  const response = new RecordedResponse();
  t.equal(writeBody(response.native, body, 0), 'ended');
  t.equal(response.isEnded, true);
});

t.test('more than the bound, or a client that has not read before: to be closed', async (t) => {
  for (const takes of [0, 48]) {
    const response = new RecordedResponse();
    response.takes = takes;
    t.equal(writeBody(response.native, body, bytesMax), 'unread', `${takes} of 200 bytes`);
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
    // Its answer shows that the gateway has gone on.
    await reader.send(request('GET', '/nothing'));
    t.equal((await reader.answer())?.status, 404);
  }
  t.ok(sent < 1_000, `${sent} heads`);
  // The system may have had no room for so many answers, and the connection may have ended for that.
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
