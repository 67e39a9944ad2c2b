/** A terminal plugin that does only what the test says, on a real WebSocket. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { watchFrame } from './frame-watch.js';

export interface Frame {
  readonly type: string;
  readonly [field: string]: any;
}

export class Plugin {
  readonly frames: Frame[] = [];
  closed: { code: number; reason: string } | undefined;
  #wake: (() => void)[] = [];

  constructor(readonly socket: WebSocket) {
    socket.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as Frame;
      watchFrame(frame);
      this.frames.push(frame);
      this.#stir();
    });
    socket.on('close', (code, reason) => {
      this.closed = { code, reason: reason.toString() };
      this.#stir();
    });
    socket.on('error', () => undefined);
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
      await this.#stirred();
    }
  }

  async waitClosed(): Promise<{ code: number; reason: string }> {
    while (this.closed === undefined) await this.#stirred();
    return this.closed;
  }

  close(): void {
    this.socket.close();
  }

  /** Cuts the connection without a word. */
  cut(): void {
    this.socket.terminate();
  }

  #stirred(): Promise<void> {
    return new Promise((resolve) => this.#wake.push(resolve));
  }

  #stir(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}

/** Connects and does not say hello. Rejects when the upgrade is refused. */
export async function connectPlugin(url: string, sessionToken: string): Promise<Plugin> {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/plugin/v1`, 'signalbox.plugin.v1', {
    headers: { authorization: `Bearer ${sessionToken}` },
  });
  const plugin = new Plugin(socket);
  await once(socket, 'open');
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

/** Connects, says hello and waits for the welcome. */
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
