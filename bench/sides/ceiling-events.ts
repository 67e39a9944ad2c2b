/**
 * Program: the ceiling of the event benches, the bare native server with two endpoints. A socket takes
 * a plugin's events and acknowledges them, streams get them. No parsing, no checks, no replay: only the
 * number of each frame is copied into prepared bytes. The argument says when it writes: `each` event as
 * it comes, as a plain handler does, or all events of a `turn` of the loop at once, which is the fastest
 * that this server can do. A bearer token names a user.
 */
import { createApp, listen, type HttpResponse, type WebSocket } from '../../src/http/uws.js';
import { pluginPath, subprotocol } from '../../src/plugins/protocol.js';
import { readDigits } from '../load/digits.js';
import { NumberedBytes } from '../load/numbered-bytes.js';
import {
  numberDigits,
  numberMarker,
  numberOrigin,
  pluginFrame,
  sseFrame,
  streamPath,
} from '../load/sample-event.js';

interface User {
  readonly streams: Set<HttpResponse>;
  plugin: WebSocket<SocketData> | undefined;
  /** Number of the first event of this turn, and how many there are. */
  first: number;
  count: number;
}

interface SocketData {
  readonly user: User;
}

const host = '127.0.0.1';
/** More than 16 KiB written within one cork is lost by this server (native-notes/backpressure.md). */
const sliceBytesMax = 15 * 1024;
const event = new NumberedBytes(Buffer.from(sseFrame(numberOrigin)));
const numberAt = pluginFrame(numberOrigin).indexOf(numberMarker) + numberMarker.length;
const welcome = JSON.stringify({
  type: 'welcome',
  connectionId: 'con_0',
  heartbeatMs: 30_000,
  serverTime: new Date().toISOString(),
  lastSeq: 0,
});

const users = new Map<string, User>();
const writesEach = process.argv[2] === 'each';
let stirred: User[] = [];

function userOf(authorization: string): User {
  let user = users.get(authorization);
  if (user === undefined) {
    user = { streams: new Set(), plugin: undefined, first: 0, count: 0 };
    users.set(authorization, user);
  }
  return user;
}

const app = createApp(undefined);

app.ws<SocketData>(pluginPath, {
  maxPayloadLength: 128 * 1024,
  maxBackpressure: 1024 * 1024,
  upgrade(res, req, context) {
    const user = userOf(req.getHeader('authorization'));
    const key = req.getHeader('sec-websocket-key');
    res.upgrade({ user }, key, subprotocol, '', context);
  },
  message(ws, message) {
    const { user } = ws.getUserData();
    if (user.plugin === undefined) {
      user.plugin = ws;
      ws.send(welcome);
      return;
    }
    // A heartbeat is shorter than an event's head.
    if (message.byteLength < numberAt) return;
    if (user.count++ === 0) {
      user.first = readDigits(new Uint8Array(message), numberAt, numberDigits);
      stirred.push(user);
      if (writesEach) pump();
      else if (stirred.length === 1) setImmediate(pump);
    }
  },
  close(ws) {
    ws.getUserData().user.plugin = undefined;
  },
});

app.get(streamPath, (res, req) => {
  const { streams } = userOf(req.getHeader('authorization'));
  res.onAborted(() => streams.delete(res));
  res.cork(() => {
    res.writeHeader('Content-Type', 'text/event-stream').write('retry: 1000\n\n');
  });
  streams.add(res);
});

function pump(): void {
  const users = stirred;
  stirred = [];
  for (const user of users) {
    const { first, count } = user;
    user.count = 0;
    const bytes = event.copies(first, count);
    for (const stream of user.streams) {
      for (let at = 0; at < bytes.length; at += sliceBytesMax) {
        stream.cork(() => stream.write(bytes.subarray(at, at + sliceBytesMax)));
      }
    }
    user.plugin?.send(`{"type":"ack","seq":${first + count - 1}}`);
  }
}

const listener = await listen(app, host, 0);
console.log(JSON.stringify({ url: `http://${host}:${listener.port}` }));
