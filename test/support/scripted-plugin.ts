/** The plugin's end of a connection: sends what the test tells it to, keeps what it receives. */
import type { Connection, PluginSocket } from '../../src/plugins/connection.js';
import type { Steps } from '../../src/lib/turn.js';
import type { Frame } from './plugin.js';

export const helloFrame = {
  type: 'hello',
  platform: 'terminal_a',
  instanceId: 'desk-1',
  accountName: 'Sim101',
  capabilities: ['submit', 'cancel', 'snapshot'],
  software: { name: 'scripted', version: '1' },
} as const;

export class ScriptedPlugin implements PluginSocket {
  connection!: Connection;
  readonly frames: Frame[] = [];
  readonly texts: string[] = [];
  closed: { code: number; reason: string } | undefined;
  /** While true it takes no frame, as a plugin that does not read. */
  isFull = false;

  /** Frames that it still takes before the connection counts as congested. */
  room = Infinity;

  endBehind(): void {
    this.connection.closed();
  }

  isCongested(): boolean {
    return this.room <= 0;
  }

  /** It has read some frames, and takes `room` more. */
  drain(room: number): void {
    this.room = room;
    this.connection.drained();
  }

  send(text: string): boolean {
    if (this.closed !== undefined) throw new Error('sent after the close');
    if (this.isFull) return false;
    this.room--;
    this.texts.push(text);
    this.frames.push(JSON.parse(text) as Frame);
    return true;
  }

  close(code: number, reason: string): void {
    if (this.closed !== undefined) throw new Error('closed twice');
    this.closed = { code, reason };
  }

  say(frame: object): void {
    this.sayText(JSON.stringify(frame));
  }

  sayText(text: string, isBinary = false): void {
    for (const steps = this.stepsOf(text, isBinary); steps?.next().done === false;);
  }

  /** Says a frame. @returns what is left of it: no other frame is handled before that. */
  stepsOf(text: string, isBinary = false): Steps | undefined {
    const bytes = new TextEncoder().encode(text);
    return this.connection.admit(bytes.length)
      ? this.connection.receive(bytes, isBinary)
      : undefined;
  }

  hello(change: object = {}): void {
    this.say({ ...helloFrame, ...change });
  }

  /** The connection breaks. */
  drop(): void {
    this.closed = { code: 1006, reason: '' };
    this.connection.closed();
  }

  of(type: string): Frame[] {
    return this.frames.filter((frame) => frame.type === type);
  }

  /** signalIds of the submit frames, in the order they came. */
  get submitted(): string[] {
    return this.of('submit').map((frame) => String(frame['signalId']));
  }

  get lastAck(): number | undefined {
    return this.of('ack').at(-1)?.['seq'] as number | undefined;
  }

  get errors(): string[] {
    return this.of('error').map((frame) => String(frame['code']));
  }
}
