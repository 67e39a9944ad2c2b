/**
 * A terminal plugin under load: the real hello of `src/plugins/PROTOCOL.md`, heartbeats as asked for,
 * frames told apart by their first letters. The owner decides how to answer a submit.
 */
import { pluginPath, subprotocol } from '../../src/plugins/protocol.js';
import type { Address } from './raw-socket.js';
import { source } from './sample-event.js';
import { LoadWebSocket, textFrame } from './web-socket.js';

export interface PluginTarget extends Address {
  readonly token: string;
}

export interface PluginEvents {
  /** Everything up to `seq` is durable. */
  readonly onAck?: (seq: number) => void;
  readonly onSubmit?: (submit: Submit) => void;
  readonly onClosed: (reason: string) => void;
}

export interface Submit {
  readonly executionId: string;
  readonly signalId: string;
}

export interface Plugin {
  /** Highest `seq` of this source that was durable when it connected. */
  readonly lastSeq: number;
  /** Whole client frames, one or many. */
  write(frames: Uint8Array): void;
  send(frame: object): void;
  close(): void;
}

interface Welcome {
  readonly lastSeq: number;
  readonly heartbeatMs: number;
}

const hello = textFrame(
  JSON.stringify({
    type: 'hello',
    ...source,
    capabilities: ['submit', 'cancel'],
    software: { name: 'bench', version: '1' },
  }),
);
const heartbeat = textFrame(JSON.stringify({ type: 'heartbeat' }));

/** Resolves with the gateway's welcome. */
export async function connectPlugin(target: PluginTarget, events: PluginEvents): Promise<Plugin> {
  let onWelcome: (welcome: Welcome) => void;
  let onFailure: (error: Error) => void;
  const welcomed = new Promise<Welcome>((resolve, reject) => {
    onWelcome = resolve;
    onFailure = reject;
  });
  let stopBeating = (): void => undefined;
  const socket = new LoadWebSocket({
    onText(bytes, start, end) {
      const takes = kinds[bytes[start + kindOffset] as number];
      if (takes === 'ack') events.onAck?.(lastNumber(bytes, end));
      else if (takes === 'submit') events.onSubmit?.(parse(bytes, start, end) as Submit);
      else if (takes === 'welcome') onWelcome(parse(bytes, start, end) as Welcome);
      else throw new Error(`The gateway said: ${bytes.toString('utf8', start, end)}`);
    },
    onClosed(reason) {
      stopBeating();
      onFailure(new Error(reason));
      events.onClosed(reason);
    },
  });
  await socket.open({
    host: target.host,
    port: target.port,
    path: pluginPath,
    headers: [`Authorization: Bearer ${target.token}`, `Sec-WebSocket-Protocol: ${subprotocol}`],
  });
  socket.write(hello);
  const { lastSeq, heartbeatMs } = await welcomed;
  const beating = setInterval(() => socket.write(heartbeat), heartbeatMs);
  stopBeating = () => clearInterval(beating);
  return {
    lastSeq,
    write: (frames) => socket.write(frames),
    send: (frame) => socket.write(textFrame(JSON.stringify(frame))),
    close: () => socket.close(),
  };
}

/** Every frame begins with `{"type":"`, and the letter that follows says enough. */
const kindOffset = '{"type":"'.length;
const kinds: Record<number, 'ack' | 'submit' | 'welcome' | undefined> = {
  [letter('a')]: 'ack',
  [letter('s')]: 'submit',
  [letter('w')]: 'welcome',
};

function letter(text: string): number {
  return text.charCodeAt(0);
}

function parse(bytes: Buffer, start: number, end: number): unknown {
  return JSON.parse(bytes.toString('utf8', start, end));
}

/** An ack's only number, right before its closing brace: parsed without a string, for there are many. */
function lastNumber(bytes: Buffer, end: number): number {
  let number = 0;
  let worth = 1;
  for (let at = end - 2; ; at--) {
    const digit = (bytes[at] as number) - 0x30;
    if (digit < 0 || digit > 9) return number;
    number += digit * worth;
    worth *= 10;
  }
}
