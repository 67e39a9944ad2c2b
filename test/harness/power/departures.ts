/**
 * What a gateway has said on its sockets, and when: answers by their trace id, frames to each plugin
 * connection, and the results of the operator's commands. Owns the beginnings of frames that came in parts.
 */
import type { Frame } from '../../support/plugin.js';
import type { SocketWrite } from './system-calls.js';

interface PluginSocket {
  rest: Buffer;
  connectionId: string;
}

const traceId = /X-Trace-Id: ([0-9a-f]{32})/g;
const upgraded = 'HTTP/1.1 101';
const headEnd = '\r\n\r\n';
const commandBegins = /^\{"(?:accepted|error)":/;
const commandEnds = /^\{"(?:result|error)":/m;

export class Departures {
  /** Trace id → when its answer left. */
  readonly answers = new Map<string, number>();
  /** `con_1 ack 5`, `con_1 submit exe_1` → when the frame left. */
  readonly frames = new Map<string, number>();
  /** When the result of each command left, in the order of the commands; Infinity: not yet. */
  readonly results: number[] = [];
  readonly #plugins = new Map<string, PluginSocket>();
  /** Socket → the number of its command. */
  readonly #commands = new Map<string, number>();

  take({ socket, bytes, at }: SocketWrite): void {
    const plugin = this.#plugins.get(socket);
    if (plugin !== undefined) return this.#frames(plugin, bytes, at);
    const text = bytes.toString('latin1');
    for (const [, id = ''] of text.matchAll(traceId)) {
      if (!this.answers.has(id)) this.answers.set(id, at);
    }
    if (text.startsWith(upgraded)) {
      const begun: PluginSocket = { rest: Buffer.alloc(0), connectionId: '' };
      this.#plugins.set(socket, begun);
      this.#frames(begun, bytes.subarray(text.indexOf(headEnd) + headEnd.length), at);
    } else if (commandBegins.test(text) || this.#commands.has(socket)) {
      const number = this.#commands.get(socket) ?? this.results.push(Infinity) - 1;
      this.#commands.set(socket, number);
      if (commandEnds.test(text)) this.results[number] = Math.min(this.results[number] ?? at, at);
    }
  }

  #frames(plugin: PluginSocket, bytes: Buffer, at: number): void {
    plugin.rest = Buffer.concat([plugin.rest, bytes]);
    for (;;) {
      const frame = takeFrame(plugin);
      if (frame === undefined) return;
      if (frame.type === 'welcome') plugin.connectionId = frame['connectionId'] as string;
      const subject = frame['seq'] ?? frame['cancelRequestId'] ?? frame['executionId'];
      const name = frameName(plugin.connectionId, frame.type, subject as string | number);
      if (!this.frames.has(name)) this.frames.set(name, at);
    }
  }
}

export function frameName(connectionId: string, type: string, subject: string | number): string {
  return `${connectionId} ${type} ${subject}`;
}

const textFrame = 0x81;
const [twoBytes, eightBytes] = [126, 127];

/** This server neither masks nor fragments its frames. @returns undefined until a frame is whole. */
function takeFrame(plugin: PluginSocket): Frame | undefined {
  for (;;) {
    const { rest } = plugin;
    if (rest.length < 2) return undefined;
    const short = rest.readUInt8(1);
    const head = short === eightBytes ? 10 : short === twoBytes ? 4 : 2;
    if (rest.length < head) return undefined;
    const length =
      short === eightBytes
        ? Number(rest.readBigUInt64BE(2))
        : short === twoBytes
          ? rest.readUInt16BE(2)
          : short;
    if (rest.length < head + length) return undefined;
    plugin.rest = rest.subarray(head + length);
    if (rest.readUInt8(0) !== textFrame) continue;
    return JSON.parse(rest.toString('utf8', head, head + length)) as Frame;
  }
}
