/**
 * The native server's own clock, which cannot be set: the tests wait at the same time for its ten seconds,
 * which it counts in steps of four. native-notes/request-lifetimes.md and backpressure.md.
 */
import t, { type Test } from 'tap';
import type { HttpResponse } from '../../src/http/uws.js';
import { isOlderBinary } from '../support/older-binary.js';
import { RawClient, request } from '../support/raw-client.js';
import { put, serve } from './tiny-app.js';

/** Longer than ten seconds in steps of four. */
const patienceMs = 17_000;
const piece = 'x'.repeat(15_000);

t.jobs = 20;
const inParallel = { buffered: true };

/** Waits for the server's close, but not for ever. */
async function isClosed(t: Test, client: RawClient): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), patienceMs);
  });
  const closed = client.closed().then(() => true);
  t.teardown(() => client.cut());
  const answer = await Promise.race([closed, patience]);
  clearTimeout(timer);
  return answer;
}

async function clientOf(t: Test, handler: (res: HttpResponse) => void): Promise<RawClient> {
  const app = await serve(t, (app) => {
    app.any('/*', handler);
  });
  return RawClient.connect(app.url);
}

/** The newer binary refuses these: test/native/http-parser.test.ts. */
const malformed: Record<string, string> = {
  'a header name with a space': 'GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n',
  'a header value with a control character': 'GET / HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n',
  'a folded header': 'GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n',
};

/** Bytes that are no request, or not yet a complete one. */
const unfinished: Record<string, string> = {
  ...(isOlderBinary ? malformed : {}),
  silence: '',
  'a head without its end': 'GET / HTTP/1.1\r\nHost: a\r\n',
  'a bare carriage return in a value': 'GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n',
  'a request line without a version': 'GET /\r\nHost: a\r\n\r\n',
  'an empty line before the request': '\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n',
  'a body without its end': request('POST', '/', ['Content-Length: 10'], 'ab'),
};

for (const [what, bytes] of Object.entries(unfinished)) {
  t.test(`${what}: no answer, and a close after about ten seconds`, inParallel, async (t) => {
    const client = await clientOf(t, (res) => {
      res.onAborted(() => undefined);
      res.onData((_chunk, isLast) => {
        if (isLast) res.end();
      });
    });
    await client.send(bytes);
    t.ok(await isClosed(t, client));
    t.equal(client.unread, '');
  });
}

t.test('an idle connection is closed about ten seconds after its answer', inParallel, async (t) => {
  const client = await clientOf(t, (res) => {
    res.end();
  });
  await client.send(request('GET', '/'));
  await client.answer();
  t.ok(await isClosed(t, client));
});

t.test('a handler that does not answer is waited for without end', inParallel, async (t) => {
  const client = await clientOf(t, (res) => {
    res.onAborted(() => undefined);
  });
  await client.send(request('GET', '/'));
  t.notOk(await isClosed(t, client));
});

t.test('an open answer to which nothing is written stays open', inParallel, async (t) => {
  const client = await clientOf(t, (res) => {
    res.onAborted(() => undefined);
    res.cork(() => res.write('>'));
  });
  await client.send(request('GET', '/'));
  t.notOk(await isClosed(t, client));
});

interface Stream {
  readonly client: RawClient;
  /** Resolves once a write has returned false. */
  readonly blocked: Promise<void>;
  readonly written: () => number;
}

/** Opens a stream to a reader that does not read at first, and writes until a write returns false. */
async function blockedStream(
  t: Test,
  onWritable: ((res: HttpResponse) => void) | undefined,
): Promise<Stream> {
  let written = 0;
  let told: () => void;
  const blocked = new Promise<void>((resolve) => {
    told = resolve;
  });
  const client = await clientOf(t, (res) => {
    res.onAborted(() => undefined);
    if (onWritable !== undefined) {
      res.onWritable(() => {
        onWritable(res);
        return true;
      });
    }
    res.cork(() => res.writeStatus('200 OK').write('>'));
    const fill = (): void => {
      do written += piece.length;
      while (put(res, piece));
      told();
    };
    setImmediate(fill);
  });
  client.socket.pause();
  await client.send(request('GET', '/'));
  return { client, blocked, written: () => written };
}

/** Floods a reader that never reads. @returns whether the server has cut it off in the end. */
async function floodsUntilCut(t: Test, againMs: number | undefined): Promise<boolean> {
  let isCut = false;
  const client = await clientOf(t, (res) => {
    res.onAborted(() => {
      isCut = true;
    });
    const fill = (): void => {
      if (isCut) return;
      while (put(res, piece));
      if (againMs !== undefined) setTimeout(fill, againMs).unref();
    };
    setImmediate(fill);
  });
  t.teardown(() => client.cut());
  client.socket.pause();
  await client.send(request('GET', '/'));
  await new Promise((resolve) => setTimeout(resolve, patienceMs));
  return isCut;
}

t.test('after a failed write, a reader that reads nothing is cut off', inParallel, async (t) => {
  t.ok(await floodsUntilCut(t, undefined));
});

t.test('each further failed write gives the reader ten seconds more', inParallel, async (t) => {
  t.notOk(await floodsUntilCut(t, 1_000));
});

t.test(
  'without onWritable a stream is closed although its reader caught up',
  inParallel,
  async (t) => {
    const { client, blocked } = await blockedStream(t, undefined);
    await blocked;
    client.socket.resume();
    t.ok(await isClosed(t, client));
  },
);

t.test('with an onWritable that writes nothing, the rest never leaves', inParallel, async (t) => {
  const { client, blocked, written } = await blockedStream(t, () => undefined);
  await blocked;
  client.socket.resume();
  t.notOk(await isClosed(t, client), 'the time limit is off');
  t.ok(client.unread.length < written(), `${client.unread.length} of ${written()}`);
});

t.test('with an onWritable that writes a little, all of it leaves', inParallel, async (t) => {
  const { client, blocked, written } = await blockedStream(t, (res) => {
    res.cork(() => res.write(':\n\n'));
  });
  await blocked;
  client.socket.resume();
  t.notOk(await isClosed(t, client), 'and the stream stays open');
  t.ok(client.unread.length > written(), `${client.unread.length} of ${written()}`);
});
