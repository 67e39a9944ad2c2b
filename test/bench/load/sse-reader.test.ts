import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import t from 'tap';
import { numberOrigin, sseFrame } from '../../../bench/load/sample-event.js';
import { SseReader } from '../../../bench/load/sse-reader.js';

const host = '127.0.0.1';

/** Forms in which servers give a stream. */
const forms = {
  bare: { header: '', encode: (body: string) => body },
  chunked: {
    header: 'Transfer-Encoding: chunked\r\n',
    encode: (body: string) =>
      (body.match(/[^]{1,300}/g) ?? [])
        .map((part) => `${part.length.toString(16)}\r\n${part}\r\n`)
        .join('') + '0\r\n\r\n',
  },
};

/** Serves the text to one reader in pieces of this many bytes, each in a read of its own. */
async function read(answer: string, pieceBytes: number): Promise<SseReader> {
  const server = createServer((socket) => {
    socket.setNoDelay(true);
    socket.once('data', () => void writePieces(socket, Buffer.from(answer), pieceBytes));
  }).listen(0, host);
  await once(server, 'listening');
  const reader = new SseReader();
  const { port } = server.address() as AddressInfo;
  try {
    await reader.open({ host, port, path: '/', headers: [] });
    await once(server, 'close');
    return reader;
  } finally {
    reader.close();
    server.close();
  }

  async function writePieces(socket: Socket, bytes: Buffer, size: number): Promise<void> {
    for (let at = 0; at < bytes.length; at += size) {
      await new Promise((written) => socket.write(bytes.subarray(at, at + size), written));
      // Lets the reader have its turn, as both ends are in this process.
      await new Promise(setImmediate);
      await new Promise(setImmediate);
    }
    socket.end();
    server.close();
  }
}

const answerWith = (form: keyof typeof forms, numbers: readonly number[]): string => {
  const body = numbers.map((number) => sseFrame(numberOrigin + number)).join('');
  return `HTTP/1.1 200 OK\r\n${forms[form].header}\r\n${forms[form].encode(`retry: 1000\n\n${body}`)}`;
};

for (const form of ['bare', 'chunked'] as const) {
  t.test(`every event of a ${form} stream is counted once, wherever reads cut it`, async (t) => {
    for (const pieceBytes of [1, 7, 64, 311, 100_000]) {
      const reader = await read(answerWith(form, [1, 2, 3, 4]), pieceBytes);
      t.match(
        reader,
        { events: 4, disordered: 0, latest: numberOrigin + 4, isClosed: true },
        `in pieces of ${pieceBytes} bytes`,
      );
    }
  });
}

t.test('an event that comes again or too late is told apart', async (t) => {
  const reader = await read(answerWith('bare', [1, 3, 3, 2, 4]), 100_000);
  t.match(reader, { events: 5, disordered: 2 });
});

t.test('an answer other than 200 is no open stream', async (t) => {
  const answer = 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n';
  await t.rejects(read(answer, 100), { message: /404 Not Found/ });
});
