/** What becomes of bytes that the other side does not take: native-notes/backpressure.md. */
import { existsSync, readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import type { HttpResponse } from '../../src/http/uws.js';
import { SseWriter } from '../../src/http/sse-writer.js';
import { RawClient, request } from '../support/raw-client.js';
import { put, received, serve, someTurns } from './tiny-app.js';

/** More than the system takes for a reader that does not read: its buffers grow up to some 10 MB. */
const floodBytes = 30_000_000;

/** The body of a chunked answer, or undefined where its chunks do not fit together. */
function dechunk(answer: string): string | undefined {
  const pieces: string[] = [];
  let at = answer.indexOf('\r\n\r\n') + 4;
  for (;;) {
    const end = answer.indexOf('\r\n', at);
    const size = Number.parseInt(answer.slice(at, end), 16);
    if (end < 0 || Number.isNaN(size)) return undefined;
    if (size === 0) return pieces.join('');
    pieces.push(answer.slice(end + 2, end + 2 + size));
    at = end + 2 + size;
    if (answer.slice(at, at + 2) !== '\r\n') return undefined;
    at += 2;
  }
}

/** Gets an answer that `write` fills, through a client that reads in gulps. */
async function readInGulps(
  t: Test,
  write: (res: HttpResponse, end: () => void) => void,
): Promise<string | undefined> {
  const app = await serve(t, (app) => {
    app.get('/', (res) => {
      let isOver = false;
      res.onAborted(() => {
        isOver = true;
      });
      res.cork(() => res.writeStatus('200 OK').write('>'));
      const end = (): void => {
        if (!isOver) res.cork(() => res.end());
        isOver = true;
      };
      write(res, end);
    });
  });
  const client = await RawClient.connect(app.url);
  t.teardown(() => client.cut());
  const { socket } = client;
  const chunks: Buffer[] = [];
  let gulp = 0;
  socket.removeAllListeners('data');
  const ended = new Promise<void>((resolve) => {
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      if (chunk.subarray(-5).toString() === '0\r\n\r\n') resolve();
      gulp += chunk.length;
      if (gulp < 1_000_000) return;
      gulp = 0;
      socket.pause();
      setTimeout(() => socket.resume(), 5);
    });
    socket.on('close', resolve);
  });
  await client.send(request('GET', '/'));
  await ended;
  return dechunk(Buffer.concat(chunks).toString('latin1'));
}

/** Writes the flood in pieces, `perCork` of them at a time, and goes on only when all were taken. */
function flood(pieceBytes: number, perCork: number) {
  const piece = 'x'.repeat(pieceBytes);
  return (res: HttpResponse, end: () => void): void => {
    let written = 0;
    const fill = (): boolean => {
      while (written < floodBytes) {
        written += perCork * pieceBytes;
        if (!put(res, piece, perCork)) return true;
      }
      end();
      return true;
    };
    res.onWritable(fill);
    setImmediate(fill);
  };
}

t.test('one write per cork: a slow reader gets every byte', async (t) => {
  const pieceBytes = 15 * 1024;
  const body = await readInGulps(t, flood(pieceBytes, 1));
  t.equal(body?.length, 1 + Math.ceil(floodBytes / pieceBytes) * pieceBytes);
});

t.test('several writes in a cork, together above 16 KiB: bytes are lost', async (t) => {
  const pieceBytes = 9000;
  const body = await readInGulps(t, flood(pieceBytes, 2));
  t.not(body?.length, 1 + Math.ceil(floodBytes / (2 * pieceBytes)) * 2 * pieceBytes);
});

t.test('the writer of streams loses nothing of texts of any size', async (t) => {
  const text = 'y'.repeat(100_000);
  const times = floodBytes / text.length;
  let writer: SseWriter | undefined;
  const body = await readInGulps(t, (res, end) => {
    let written = 0;
    const fill = (): void => {
      while (writer?.isBlocked() === false && written < times) {
        writer.write(Buffer.from(text));
        written++;
      }
      if (writer?.isBlocked() === false) end();
    };
    writer = new SseWriter(res, { onDrained: fill, onClosed: () => undefined });
    setImmediate(fill);
  });
  t.equal(body?.replaceAll(':\n\n', '').length, 1 + times * text.length);
});

t.test('a write that returns false was taken all the same, and without any bound', async (t) => {
  let offset = -1;
  const piece = 'z'.repeat(15_000);
  const times = floodBytes / piece.length;
  let refused = 0;
  const app = await serve(t, (app) => {
    app.get('/', (res) => {
      res.onAborted(() => undefined);
      res.cork(() => res.writeStatus('200 OK').write('>'));
      setImmediate(() => {
        for (let i = 0; i < times; i++) if (!put(res, piece)) refused++;
        offset = res.getWriteOffset();
        res.cork(() => res.end());
      });
    });
  });
  const client = await RawClient.connect(app.url);
  t.teardown(() => client.cut());
  client.socket.removeAllListeners('data');
  await client.send(request('GET', '/'));
  await received(client.socket, floodBytes);
  t.ok(refused > times / 2, `${refused} of ${times}`);
  t.equal(offset, 0, 'and the offset does not count what is written in chunks');
});

/** Data segments that this machine has sent over TCP. */
function segmentsSent(): number {
  const [names, values] = readFileSync('/proc/net/netstat', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('TcpExt:'))
    .map((line) => line.split(' '));
  return Number(values?.[names?.indexOf('TCPOrigDataSent') ?? -1]);
}

const headerCount = 20;
const countsSegments = existsSync('/proc/net/netstat');

t.test(
  'a cork within another socket’s callback corks nothing: each write is a system call',
  { skip: !countsSegments && 'this system does not count TCP segments' },
  async (t) => {
    const waiting: HttpResponse[] = [];
    /** Answers the request that waits. @returns how many segments that took. */
    const answer = (): number => {
      const before = segmentsSent();
      const res = waiting.pop();
      res?.cork(() => {
        res.writeStatus('200 OK');
        for (let i = 0; i < headerCount; i++) res.writeHeader(`X-${i}`, 'value');
        res.end('done');
      });
      return segmentsSent() - before;
    };
    const app = await serve(t, (app) => {
      app.get('/wait', (res) => {
        res.onAborted(() => undefined);
        waiting.push(res);
      });
      app.get('/within', (res) => {
        // Microtasks run before the native server ends its own cork.
        queueMicrotask(() => (within = Math.min(within, answer())));
        res.end();
      });
      app.get('/after', (res) => {
        setImmediate(() => (after = Math.min(after, answer())));
        res.end();
      });
    });
    let within = Infinity;
    let after = Infinity;
    const [reader, other] = [await RawClient.connect(app.url), await RawClient.connect(app.url)];
    t.teardown(() => [reader, other].forEach((client) => client.cut()));
    // The counter covers the whole machine: the try with the least other traffic counts.
    for (let i = 0; i < 20; i++) {
      for (const path of ['/within', '/after']) {
        await reader.send(request('GET', '/wait'));
        while (waiting.length === 0) await someTurns();
        await other.send(request('GET', path));
        await other.answer();
        t.equal((await reader.answer())?.body, 'done');
      }
    }
    t.ok(within > 5 * after, `${within} segments within, ${after} after`);
  },
);
