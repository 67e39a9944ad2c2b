/**
 * An attacker in a process of its own: `node flooder.program.js URL SESSION_TOKEN ATTACK`. Floods the plugin
 * socket with one kind of frame, or the API with requests in one write, over several connections, and
 * connects again when it is cut off, until it is killed. Prints once a second what ended its connections, by
 * reason.
 */
import { connect, type Socket } from 'node:net';
import { handshake, handshakeLines, opcodes } from './raw-websocket.js';

const [url = '', token = '', attack = ''] = process.argv.slice(2);
const connections = 4;
/** Over all connections. */
const bytesPerSecond = 16 * 1024 * 1024;
const tickMs = 5;
const bytesPerTick = (bytesPerSecond * tickMs) / 1_000 / connections;
const reconnectMs = 50;
/** Far less than the gateway takes in one read. */
const chunkBytes = 64 * 1024;

let seq = 0;
let sources = 0;

/** A frame with the mask 0, so that it needs no masking. */
function frame(opcode: number, text = '', isFinal = true): Buffer {
  const length = Buffer.byteLength(text);
  const head = Buffer.alloc(14);
  head[0] = (isFinal ? 0x80 : 0) | opcode;
  let size = 2;
  if (length < 126) head[1] = 0x80 | length;
  else if (length < 65_536) {
    head[1] = 0x80 | 126;
    size += head.writeUInt16BE(length, 2) - 2;
  } else {
    head[1] = 0x80 | 127;
    size = head.writeBigUInt64BE(BigInt(length), 2);
  }
  return Buffer.concat([head.subarray(0, size + 4), Buffer.from(text)]);
}

const say = (value: object): Buffer => frame(opcodes.text, JSON.stringify(value));
const unknown = 'exe_01KGA2M5000000000000000001_0';

interface Attack {
  /** What is sent after the hello. */
  readonly frame: () => Buffer;
  /** Sent once, before the first `frame`. */
  readonly first?: Buffer;
  readonly repeats: boolean;
  readonly isUnlimited?: boolean;
}

const of = (bytes: Buffer): Attack => ({ frame: () => bytes, repeats: true });
const numbered = (value: object): Attack => ({
  frame: () => say({ ...value, seq: ++seq }),
  repeats: false,
});
const event = { type: 'event', event: 'terminal_message' };
/** Fragments of a message that never ends. */
const fragments: Attack = {
  ...of(frame(opcodes.continuation, '', false)),
  first: frame(opcodes.text, '{', false),
};

// oxfmt-ignore
const attacks: Readonly<Record<string, Attack>> = {
  events:        numbered({ ...event, data: { text: 'x' } }),
  large_events:  numbered({ ...event, rawText: 'x'.repeat(120_000) }),
  reports:       numbered({ type: 'report', executionId: unknown, status: 'filled' }),
  heartbeats:    of(say({ type: 'heartbeat' })),
  acks:          of(say({ type: 'ack', executionId: unknown })),
  bad_frames:    of(say({ type: 'x' })),
  empty:         of(frame(opcodes.text)),
  pings:         of(frame(opcodes.ping)),
  pongs:         of(frame(opcodes.pong)),
  continuations: fragments,
  // As fast as the gateway takes it.
  fast_continuations: { ...fragments, isUnlimited: true },
  connections:   of(frame(opcodes.close)),
  requests:      of(Buffer.from('GET /nothing HTTP/1.1\r\nHost: gateway\r\n\r\n')),
};

const chosen = attacks[attack];
if (chosen === undefined)
  throw new Error(`no attack ${attack}: ${Object.keys(attacks).join(', ')}`);
const { repeats } = chosen;
const repeated = repeats ? chunkOf(chosen) : undefined;

function chunkOf({ frame }: Attack): Buffer {
  const frames = [frame()];
  for (let size = frames[0]?.length ?? 0; size < chunkBytes;) {
    const next = repeats ? (frames[0] as Buffer) : frame();
    frames.push(next);
    size += next.length;
  }
  return Buffer.concat(frames);
}

const ends = new Map<string, number>();
const count = (end: string): void => void ends.set(end, (ends.get(end) ?? 0) + 1);

function open(): void {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let received = '';
  let stop: (() => void) | undefined;
  socket.setNoDelay(true);
  socket.on('error', () => undefined);
  socket.on('connect', () => {
    // No credential is needed for these.
    if (attack === 'requests') {
      stop = sendOn(socket);
      return;
    }
    const lines = Object.entries(handshakeLines(token)).map((line) => line.join(': '));
    socket.write(handshake(lines));
  });
  socket.on('data', (bytes: Buffer) => {
    received = (received + bytes.toString('latin1')).slice(-4_096);
    if (stop !== undefined) return;
    const status = /^HTTP\/1.1 (\d+)/.exec(received)?.[1];
    if (status !== '101') {
      count(`status ${status ?? 'none'}`);
      socket.destroy();
      return;
    }
    stop = flood(socket);
  });
  socket.on('close', () => {
    stop?.();
    count(/too_\w+|bad_protocol/.exec(received)?.[0] ?? 'closed');
    setTimeout(open, reconnectMs);
  });
}

function flood(socket: Socket): () => void {
  const hello = { platform: 'terminal_a', accountName: 'flood', capabilities: ['submit'] };
  const instanceId = attack === 'connections' ? `f-${++sources}` : `f-${++sources % connections}`;
  socket.write(say({ type: 'hello', ...hello, instanceId }));
  if (chosen?.first !== undefined) socket.write(chosen.first);
  return sendOn(socket);
}

/** @returns a function that ends it. */
function sendOn(socket: Socket): () => void {
  if (chosen?.isUnlimited === true)
    return sendAllTo(socket, Buffer.concat(Array(16).fill(repeated)));
  const timer = setInterval(() => {
    for (let sent = 0; sent < bytesPerTick && !socket.writableNeedDrain; sent += chunkBytes) {
      socket.write(repeated ?? chunkOf(chosen as Attack));
    }
  }, tickMs);
  return () => clearInterval(timer);
}

function sendAllTo(socket: Socket, bytes: Buffer): () => void {
  const send = (): void => {
    while (socket.write(bytes));
  };
  socket.on('drain', send);
  send();
  return () => socket.off('drain', send);
}

for (let index = 0; index < connections; index++) open();
setInterval(() => {
  console.log(JSON.stringify(Object.fromEntries(ends)));
}, 1_000);
