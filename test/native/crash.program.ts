/**
 * Does one thing that ends the process through the native server, or nearly does; the test sees how the
 * process ends. The `uncaughtException` handler shows that it does not help.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { parentPort, Worker } from 'node:worker_threads';
import {
  createApp,
  listen,
  native,
  type HttpResponse,
  type us_listen_socket,
} from '../../src/http/uws.js';

process.on('uncaughtException', (error) => process.stdout.write(`uncaught ${error.message}\n`));

/** Serves `handle`, sends one request of the method to it, and waits a little. */
async function request(method: string, handle: (res: HttpResponse) => void): Promise<void> {
  const app = createApp(undefined);
  app.any('/*', handle);
  const listener = await listen(app, '127.0.0.1', 0);
  const socket = connect(listener.port, '127.0.0.1');
  const closed = once(socket, 'close');
  socket.resume();
  socket.end(`${method} / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab`);
  await closed;
  process.stdout.write('alive\n');
  process.exit(0);
}

function listening(): us_listen_socket {
  let socket: us_listen_socket | undefined;
  createApp(undefined).listen('127.0.0.1', 0, (token) => {
    if (token !== false) socket = token;
  });
  return socket as us_listen_socket;
}

const deeds: Record<string, () => unknown> = {
  'no abort handler': () => request('GET', () => undefined),
  'a whole answer, no abort handler': () =>
    request('GET', (res) => {
      res.writeStatus('200 OK\r\nConnection: close').tryEnd('ab', 2);
    }),
  'a part of an answer, no abort handler': () =>
    request('GET', (res) => {
      res.tryEnd('ab', 3);
    }),
  'throw before onAborted': () =>
    request('GET', () => {
      throw new Error('early');
    }),
  'throw after onAborted': () =>
    request('GET', (res) => {
      res.onAborted(() => undefined);
      throw new Error('late');
    }),
  'throw in onData': () =>
    request('POST', (res) => {
      res.onAborted(() => process.stdout.write('aborted\n'));
      res.onData(() => {
        throw new Error('in onData');
      });
    }),
  'a HEAD answered with endWithoutBody(n)': () =>
    request('HEAD', (res) => {
      res.endWithoutBody(7);
    }),
  'an idle timeout of 5 seconds': () => createApp(undefined).ws('/', { idleTimeout: 5 }),
  'closing a false listen token': () => {
    native.us_listen_socket_close(false);
  },
  'ending a thread that listens': async () => {
    if (parentPort !== null) {
      listening();
      parentPort.postMessage('listening');
      return;
    }
    const worker = new Worker(new URL(import.meta.url), { argv: process.argv.slice(2) });
    await once(worker, 'message');
    await worker.terminate();
    process.stdout.write('alive\n');
    process.exit(0);
  },
};

await deeds[process.argv[2] as string]?.();
