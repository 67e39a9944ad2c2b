/**
 * The plugin driver of the tests and harnesses: one connection to /plugin/v1 that sends only what its
 * owner tells it to. Terminals with a behaviour of their own are built on it; only
 * harness/fuzz/plugins/raw-websocket.ts, which violates the framing, stands apart.
 */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { watchFrame } from './frame-watch.js';
import { NextChange } from './next-change.js';

export interface Frame {
  readonly type: string;
  readonly [field: string]: any;
}

export interface PluginListeners {
  readonly onOpen?: (plugin: Plugin) => void;
  /** Gets each frame in place of `frames` and `next`. */
  readonly onFrame?: (frame: Frame, plugin: Plugin) => void;
  readonly onClose?: (code: number, plugin: Plugin) => void;
}

export class Plugin {
  /** Received and not taken by `next`. */
  readonly frames: Frame[] = [];
  closed: { code: number; reason: string } | undefined;
  readonly #change = new NextChange();

  constructor(
    readonly socket: WebSocket,
    { onOpen, onFrame, onClose }: PluginListeners = {},
  ) {
    socket.on('open', () => onOpen?.(this));
    socket.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as Frame;
      watchFrame(frame);
      if (onFrame === undefined) this.frames.push(frame);
      else onFrame(frame, this);
      this.#change.happened();
    });
    socket.on('close', (code, reason) => {
      this.closed = { code, reason: reason.toString() };
      onClose?.(code, this);
      this.#change.happened();
    });
    socket.on('error', () => undefined);
  }

  get isOpen(): boolean {
    return this.socket.readyState === WebSocket.OPEN;
  }

  send(frame: object | string): void {
    this.socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }

  /** Waits until a frame of this type and with these fields has come, and takes it out. */
  async next(type: string, fields: object = {}): Promise<Frame> {
    for (;;) {
      const place = this.frames.findIndex(
        (frame) =>
          frame.type === type &&
          Object.entries(fields).every(([name, value]) => frame[name] === value),
      );
      if (place >= 0) return this.frames.splice(place, 1)[0] as Frame;
      if (this.closed !== undefined) {
        throw new Error(`closed with ${this.closed.code} while waiting for ${type}`);
      }
      await this.#change.wait();
    }
  }

  async waitClosed(): Promise<{ code: number; reason: string }> {
    while (this.closed === undefined) await this.#change.wait();
    return this.closed;
  }

  close(): void {
    this.socket.close();
  }

  /** Cuts the connection without a close frame. */
  cut(): void {
    this.socket.terminate();
  }
}

const handshakeWithinMs = 20_000;

/** Begins to connect. A refused upgrade closes it with 1006. */
export function dialPlugin(
  url: string,
  sessionToken: string,
  listeners: PluginListeners = {},
): Plugin {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/plugin/v1`, 'signalbox.plugin.v1', {
    headers: { authorization: `Bearer ${sessionToken}` },
    handshakeTimeout: handshakeWithinMs,
  });
  return new Plugin(socket, listeners);
}

/** Connects and sends no hello. Rejects when the upgrade is refused. */
export async function connectPlugin(
  url: string,
  sessionToken: string,
  listeners: PluginListeners = {},
): Promise<Plugin> {
  const plugin = dialPlugin(url, sessionToken, listeners);
  await once(plugin.socket, 'open');
  return plugin;
}

export const hello = {
  type: 'hello',
  platform: 'terminal_a',
  instanceId: 'desk-1',
  accountName: 'Sim101',
  capabilities: ['submit', 'cancel'],
  software: { name: 'test', version: '1' },
};

/** Connects, sends the hello and waits for the welcome. */
export async function openPlugin(
  url: string,
  sessionToken: string,
  fields: object = {},
): Promise<Plugin> {
  const plugin = await connectPlugin(url, sessionToken);
  plugin.send({ ...hello, ...fields });
  await plugin.next('welcome');
  return plugin;
}
