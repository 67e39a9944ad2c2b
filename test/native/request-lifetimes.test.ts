/** How long `req`, `res` and a body's bytes live, and what an answer checks: native-notes/request-lifetimes.md. */
import t, { type Test } from 'tap';
import type { HttpRequest, HttpResponse } from '../../src/http/uws.js';
import { RawClient, request, type RawAnswer } from '../support/raw-client.js';
import { serve, someTurns } from './tiny-app.js';

type Handler = (res: HttpResponse, req: HttpRequest) => void;

async function clientOf(t: Test, handler: Handler): Promise<RawClient> {
  const app = await serve(t, (app) => {
    app.any('/*', handler);
  });
  const client = await RawClient.connect(app.url);
  t.teardown(() => client.cut());
  return client;
}

async function answerOf(
  t: Test,
  handler: Handler,
  bytes = request('GET', '/'),
): Promise<RawAnswer | undefined> {
  const client = await clientOf(t, handler);
  await client.send(bytes);
  return client.answer();
}

t.test('req is gone once its handler has returned', async (t) => {
  const answer = await answerOf(t, (res, req) => {
    res.onAborted(() => undefined);
    setImmediate(() => {
      t.throws(() => req.getUrl(), /HttpRequest must not be accessed/);
      res.cork(() => res.end('late'));
    });
  });
  t.equal(answer?.body, 'late');
});

t.test('res must not be touched after the answer', async (t) => {
  await answerOf(t, (res) => {
    res.end();
    t.throws(() => res.end(), /HttpResponse must not be accessed/);
    t.throws(() => res.cork(() => undefined), /HttpResponse must not be accessed/);
    t.throws(() => res.getRemoteAddress(), /HttpResponse must not be accessed/);
  });
});

t.test('res must not be touched after the client has gone, which onAborted tells', async (t) => {
  let left: (res: HttpResponse) => void;
  const leaving = new Promise<HttpResponse>((resolve) => {
    left = resolve;
  });
  const client = await clientOf(t, (res) => {
    res.onAborted(() => left(res));
    client.cut();
  });
  await client.send(request('GET', '/'));
  const res = await leaving;
  t.throws(() => res.end(), /HttpResponse must not be accessed/);
});

t.test('the bytes of a chunk are gone once onData has returned', async (t) => {
  let kept: ArrayBuffer | undefined;
  const bytes = request('POST', '/', [], 'ab');
  const answer = await answerOf(
    t,
    (res) => {
      res.onAborted(() => undefined);
      res.onData((chunk) => {
        kept = chunk;
        t.equal(chunk.byteLength, 2);
        setImmediate(() => res.cork(() => res.end()));
      });
    },
    bytes,
  );
  t.equal(answer?.status, 200);
  t.equal(kept?.byteLength, 0);
});

t.test('a body comes as one chunk, as many, or as many and an empty last one', async (t) => {
  let chunks: [bytes: number, isLast: boolean][] = [];
  const client = await clientOf(t, (res) => {
    chunks = [];
    res.onAborted(() => undefined);
    res.onData((chunk, isLast) => {
      chunks.push([chunk.byteLength, isLast]);
      if (isLast) res.end();
    });
  });
  const chunksOf = async (...segments: string[]): Promise<typeof chunks> => {
    for (const segment of segments) {
      await client.send(segment);
      await someTurns();
    }
    await client.answer();
    return chunks;
  };
  const whole = request('POST', '/', [], 'abcd');
  t.strictSame(await chunksOf(whole), [[4, true]]);
  t.strictSame(await chunksOf(request('GET', '/')), [[0, true]], 'no body is an empty last chunk');
  const chunked = request('POST', '/', ['Transfer-Encoding: chunked']);
  t.strictSame(await chunksOf(`${chunked}2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n`), [
    [2, false],
    [2, false],
    [0, true],
  ]);
  const pieces = await chunksOf(whole.slice(0, -2), whole.slice(-2));
  t.equal(
    pieces.reduce((sum, [bytes]) => sum + bytes, 0),
    4,
  );
  t.strictSame(
    pieces.map(([, isLast]) => isLast),
    pieces.map((_, index) => index === pieces.length - 1),
  );
});

t.test('onData that comes a turn late never hears of a body in the same segment', async (t) => {
  const later: Record<string, (register: () => void) => void> = {
    'a microtask later': (register) => void Promise.resolve().then(register),
    'a turn later': (register) => void setImmediate(register),
  };
  const heard: string[] = [];
  for (const [when, defer] of Object.entries(later)) {
    const client = await clientOf(t, (res) => {
      res.onAborted(() => undefined);
      defer(() => {
        res.onData(() => heard.push(when));
      });
    });
    await client.send(request('POST', '/', [], 'ab'));
    await someTurns();
  }
  t.strictSame(heard, ['a microtask later']);
});

t.test('onData goes on after the answer, and the connection serves the next request', async (t) => {
  let heard = 0;
  const client = await clientOf(t, (res, req) => {
    if (req.getMethod() === 'get') {
      res.end('next');
      return;
    }
    res.onAborted(() => undefined);
    res.onData((chunk) => {
      heard += chunk.byteLength;
      if (heard === chunk.byteLength) {
        res.cork(() => res.writeStatus('413 x').writeHeader('Connection', 'close').end());
      }
    });
  });
  const upload = request('POST', '/', [], 'x'.repeat(100));
  await client.send(upload.slice(0, -50));
  t.equal((await client.answer())?.status, 413);
  await client.send(upload.slice(-50) + request('GET', '/'));
  t.equal((await client.answer())?.body, 'next', 'announcing a close does not close');
  t.equal(heard, 100);
});

t.test('a header written before the status makes it 200', async (t) => {
  const answer = await answerOf(t, (res) => {
    res.writeHeader('X', '1').writeStatus('404 Not Found').end();
  });
  t.equal(answer?.status, 200);
});

t.test('line breaks in a header value are sent as they are', async (t) => {
  const answer = await answerOf(t, (res) => {
    res.writeHeader('X', 'a\r\nInjected: 1').end();
  });
  t.strictSame(answer?.headers['injected'], ['1']);
});

t.test('Date, Content-Length and the mark are always written: ours come on top', async (t) => {
  const answer = await answerOf(t, (res) => {
    res.writeHeader('Date', 'now').writeHeader('Content-Length', '2').end('ok');
  });
  t.equal(answer?.headers['date']?.length, 2);
  t.strictSame(answer?.headers['content-length'], ['2', '2']);
  t.strictSame(answer?.headers['uwebsockets'], ['20']);
});

t.test('a header value that is no text throws', async (t) => {
  await answerOf(t, (res) => {
    for (const value of [1, null]) {
      t.throws(() => res.writeHeader('X', value as unknown as string), /can only be passed by/);
    }
    res.end();
  });
});

t.test('end writes a body to HEAD too, which the client takes for the next answer', async (t) => {
  const client = await clientOf(t, (res) => {
    res.end('body');
  });
  await client.send(request('HEAD', '/'));
  t.equal((await client.answer({ isHead: true }))?.status, 200);
  t.equal(client.unread, 'body');
});

t.test('HEAD is answered with a length and endWithoutBody(), again and again', async (t) => {
  const client = await clientOf(t, (res) => {
    res.onAborted(() => undefined);
    res.writeHeader('Content-Length', '7').endWithoutBody();
  });
  for (let i = 0; i < 3; i++) {
    await client.send(request('HEAD', '/'));
    const answer = await client.answer({ isHead: true });
    t.strictSame(answer?.headers['content-length'], ['7']);
  }
  t.equal(client.unread, '');
});

t.test(
  'endWithoutBody(n) never ends the answer: the next request cuts the connection',
  async (t) => {
    let aborted = 0;
    const client = await clientOf(t, (res) => {
      res.onAborted(() => aborted++);
      res.endWithoutBody(7);
    });
    await client.send(request('HEAD', '/'));
    t.strictSame((await client.answer({ isHead: true }))?.headers['content-length'], ['7']);
    await client.send(request('HEAD', '/'));
    t.equal(await client.answer({ isHead: true }), undefined);
    t.equal(aborted, 1);
  },
);
