/**
 * A server of the native package without the gateway's code: the tests of this folder see the installed
 * binary itself, and notice when it changes.
 */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Test } from 'tap';
import {
  createApp,
  listen,
  type HttpRequest,
  type HttpResponse,
  type TemplatedApp,
} from '../../src/http/uws.js';

export interface TinyApp {
  readonly url: string;
  readonly port: number;
}

/** Serves on a free port until the test ends, and then cuts open connections. */
export async function serve(
  t: Pick<Test, 'teardown'>,
  routes: (app: TemplatedApp) => void,
): Promise<TinyApp> {
  const app = createApp(undefined);
  routes(app);
  const listener = await listen(app, '127.0.0.1', 0);
  const { port } = listener;
  t.teardown(() => {
    listener.close();
    app.close();
  });
  return { url: `http://127.0.0.1:${port}`, port };
}

/** What a handler saw of a request. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

export interface Recorder extends TinyApp {
  /** The requests that a handler was run for, in order. */
  readonly seen: Seen[];
}

/** Answers every request 200, with the length of its body, and notes it as soon as its handler runs. */
export async function serveRecorder(t: Pick<Test, 'teardown'>): Promise<Recorder> {
  const seen: Seen[] = [];
  const app = await serve(t, (app) => {
    app.any('/*', (res, req) => {
      res.onAborted(() => undefined);
      seen.push(noteOf(req));
      let length = 0;
      res.onData((chunk, isLast) => {
        length += chunk.byteLength;
        if (isLast) res.end(`${length}`);
      });
    });
  });
  return { ...app, seen };
}

function noteOf(req: HttpRequest): Seen {
  const headers: [string, string][] = [];
  req.forEach((name, value) => headers.push([name, value]));
  return { method: req.getMethod(), url: req.getUrl(), headers };
}

/** Lets the server, which is in this process, read what the system has received for it. */
export async function someTurns(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise(setImmediate);
}

/** Writes a text within one cork, once or several times. @returns whether every write was taken. */
export function put(res: HttpResponse, text: string, times = 1): boolean {
  let taken = 0;
  res.cork(() => {
    for (let i = 0; i < times; i++) if (res.write(text)) taken++;
  });
  return taken === times;
}

/** Waits until the socket has received this many more bytes. */
export async function received(socket: Socket, bytes: number): Promise<void> {
  const end = socket.bytesRead + bytes;
  while (socket.bytesRead < end) await once(socket, 'data');
}
