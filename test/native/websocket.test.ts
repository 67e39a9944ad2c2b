/** What the native WebSocket server checks, forgives and drops: native-notes/backpressure.md, request-lifetimes.md. */
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { WebSocket as Client } from 'ws';
import type { WebSocket } from '../../src/http/uws.js';
import { rawCall } from '../support/raw-client.js';
import { serve, someTurns } from './tiny-app.js';

const maxBackpressure = 100_000;
const message = 'm'.repeat(30_000);
const [taken, buffered, dropped] = [1, 0, 2];

interface Desk {
  readonly url: string;
  readonly server: WebSocket<unknown>;
  readonly client: Client;
  /** Code and reason that the client hears. */
  readonly closed: Promise<[number, string]>;
  /** What the server heard, in order. */
  readonly heard: string[];
}

interface Hooks {
  readonly onMessage?: (ws: WebSocket<unknown>, bytes: ArrayBuffer) => void;
  readonly onClose?: (ws: WebSocket<unknown>) => void;
}

/** One client, connected to a server of its own. */
async function connect(t: Test, { onMessage, onClose }: Hooks = {}): Promise<Desk> {
  let server: WebSocket<unknown> | undefined;
  const heard: string[] = [];
  const app = await serve(t, (app) => {
    app.ws('/', {
      maxBackpressure,
      maxPayloadLength: 1000,
      open: (ws) => {
        server = ws;
      },
      message: (ws, bytes) => onMessage?.(ws, bytes),
      dropped: (_ws, bytes) => {
        heard.push(`dropped ${bytes.byteLength}`);
      },
      drain: (ws) => {
        heard.push(`drained to ${ws.getBufferedAmount()}`);
      },
      close: (ws, code) => {
        heard.push(`closed ${code}`);
        onClose?.(ws);
      },
    });
  });
  const client = new Client(app.url.replace('http', 'ws'));
  client.on('error', () => undefined);
  t.teardown(() => client.terminate());
  await once(client, 'open');
  await someTurns();
  const closed = once(client, 'close').then(
    ([code, reason]) => [code, String(reason)] as [number, string],
  );
  return { url: app.url, server: server as WebSocket<unknown>, client, closed, heard };
}

const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';

t.test('a key of 24 characters alone makes an upgrade: nothing else is looked at', async (t) => {
  const { url } = await connect(t);
  t.equal((await rawCall(url, 'GET', '/', [key]))?.status, 101);
  t.equal((await rawCall(url, 'GET', '/', [key, 'Sec-WebSocket-Version: 7']))?.status, 101);
  t.equal((await rawCall(url, 'GET', '/', ['Sec-WebSocket-Key: short']))?.status, 404);
  t.equal((await rawCall(url, 'POST', '/', [key]))?.status, 404);
});

t.test('the bytes of a message are gone once its handler has returned', async (t) => {
  let kept: ArrayBuffer | undefined;
  const { client } = await connect(t, {
    onMessage: (ws, bytes) => {
      t.equal(bytes.byteLength, 5);
      kept = bytes;
      ws.send('got it');
    },
  });
  client.send('hello');
  await once(client, 'message');
  t.equal(kept?.byteLength, 0);
});

t.test('a message that is too long, or no UTF-8, cuts the connection without a word', async (t) => {
  for (const data of ['x'.repeat(1001), Buffer.from([0xff])]) {
    const { client, closed, heard } = await connect(t);
    client.send(data, { binary: false });
    t.strictSame(await closed, [1006, '']);
    t.strictSame(heard, ['closed 1006']);
  }
});

t.test('end runs the close handler within the call, and the socket is then taboo', async (t) => {
  const order: string[] = [];
  const taboo = /Invalid access of closed/;
  const { server, closed } = await connect(t, {
    onClose: (ws) => {
      order.push('close handler');
      t.throws(() => ws.getRemoteAddressAsText(), taboo);
      t.doesNotThrow(() => ws.getUserData(), 'but for its user data');
    },
  });
  server.end(4001, 'bye');
  order.push('end returned');
  t.strictSame(order, ['close handler', 'end returned']);
  t.throws(() => server.send('x'), taboo);
  t.throws(() => server.end(1000), taboo);
  t.throws(() => server.getBufferedAmount(), taboo);
  t.doesNotThrow(() => server.getUserData());
  t.strictSame(await closed, [4001, 'bye']);
});

/** Sends to a client that does not read, until `send` returns `wanted`. @returns all that it returned. */
function sendUntil({ server }: Desk, wanted: number): number[] {
  const answers: number[] = [];
  do answers.push(server.send(message));
  while (answers.at(-1) !== wanted);
  return answers;
}

t.test('send says taken, then buffered, then dropped', async (t) => {
  const desk = await connect(t);
  desk.client.pause();
  const answers = sendUntil(desk, dropped);
  t.strictSame([...new Set(answers)], [taken, buffered, dropped]);
  t.strictSame(desk.heard, [`dropped ${message.length}`]);
  const amount = desk.server.getBufferedAmount();
  t.ok(amount > maxBackpressure, 'the limit is passed by up to a message');
  t.ok(amount <= maxBackpressure + message.length + 10, `${amount}`);
});

t.test('what was buffered arrives when the reader reads, and is told as drained', async (t) => {
  const desk = await connect(t);
  desk.client.pause();
  const answers = sendUntil(desk, dropped);
  let arrived = 0;
  const all = new Promise<void>((resolve) => {
    desk.client.on('message', () => {
      if (++arrived === answers.length - 1) resolve();
    });
  });
  desk.client.resume();
  await all;
  t.equal(desk.heard.at(-1), 'drained to 0');
});

t.test(
  'a close frame is dropped like any other beyond the limit, and arrives below it',
  async (t) => {
    const full = await connect(t);
    full.client.pause();
    sendUntil(full, dropped);
    full.server.end(4003, 'too slow');
    full.client.resume();
    t.strictSame(await full.closed, [1006, '']);

    const waiting = await connect(t);
    waiting.client.pause();
    sendUntil(waiting, buffered);
    waiting.server.end(4003, 'too slow');
    waiting.client.resume();
    t.strictSame(await waiting.closed, [4003, 'too slow']);
  },
);
