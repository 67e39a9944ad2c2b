/**
 * WebSocket framing by hand (RFC 6455), for frames that no library sends. It stands apart from the
 * plugin driver in test/support/plugin.ts because `ws` refuses to violate the protocol. One connection,
 * from its handshake to its end.
 */
import { randomBytes } from 'node:crypto';
import { RawClient } from '../../../support/raw-client.js';

export interface RawFrame {
  readonly opcode: number;
  readonly payload: Uint8Array;
  readonly fin?: boolean;
  /** Three bits. */
  readonly rsv?: number;
  readonly isUnmasked?: boolean;
  /** Length in the header instead of the payload's. */
  readonly length?: bigint;
  /** Least size of the length field: 1, 2 or 8 bytes. */
  readonly lengthBytes?: 1 | 2 | 8;
}

export const opcodes = {
  continuation: 0,
  text: 1,
  binary: 2,
  close: 8,
  ping: 9,
  pong: 10,
} as const;

export function encode(frame: RawFrame): Buffer {
  const { opcode, payload, fin = true, rsv = 0, lengthBytes = 1 } = frame;
  const length = frame.length ?? BigInt(payload.length);
  const maskBit = frame.isUnmasked === true ? 0 : 0x80;
  const head = [(fin ? 0x80 : 0) | (rsv << 4) | opcode];
  const size = Buffer.alloc(8);
  size.writeBigUInt64BE(length);
  if (length < 126n && lengthBytes === 1) head.push(maskBit | Number(length));
  else if (length < 65_536n && lengthBytes <= 2) head.push(maskBit | 126, ...size.subarray(6));
  else head.push(maskBit | 127, ...size);
  if (frame.isUnmasked === true) return Buffer.from([...head, ...payload]);
  const mask = randomBytes(4);
  const masked = payload.map((byte, at) => byte ^ (mask[at % 4] as number));
  return Buffer.concat([Buffer.from(head), mask, masked]);
}

export function textFrame(text: string, fields: Partial<RawFrame> = {}): RawFrame {
  return { opcode: opcodes.text, payload: Buffer.from(text), ...fields };
}

/** The lines of a valid handshake by name, so that each can be mutated. */
export function handshakeLines(bearer: string): Record<string, string> {
  return {
    Host: 'gateway',
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'Sec-WebSocket-Protocol': 'signalbox.plugin.v1',
    Authorization: `Bearer ${bearer}`,
  };
}

export function handshake(
  lines: readonly string[],
  requestLine = 'GET /plugin/v1 HTTP/1.1',
): string {
  return `${[requestLine, ...lines].join('\r\n')}\r\n\r\n`;
}

export class RawWebSocket {
  #taken = 0;

  private constructor(readonly client: RawClient) {}

  /** @returns undefined when the upgrade is refused. */
  static async open(url: string, sessionToken: string): Promise<RawWebSocket | undefined> {
    const client = await RawClient.connect(url);
    const lines = Object.entries(handshakeLines(sessionToken)).map((line) => line.join(': '));
    await client.send(handshake(lines));
    const answer = await client.answer();
    return answer?.status === 101 ? new RawWebSocket(client) : undefined;
  }

  /** Sends the bytes split at `cuts`. */
  async send(bytes: Buffer, cuts: readonly number[] = []): Promise<void> {
    let from = 0;
    for (const cut of [...cuts].sort((a, b) => a - b)) {
      await this.client.send(bytes.subarray(from, cut));
      from = cut;
    }
    await this.client.send(bytes.subarray(from));
  }

  /** @returns the complete frames received since the last call. */
  take(): { opcode: number; payload: Buffer }[] {
    const bytes = Buffer.from(this.client.unread, 'latin1');
    const frames: { opcode: number; payload: Buffer }[] = [];
    for (;;) {
      const at = this.#taken;
      if (bytes.length < at + 2) return frames;
      const short = (bytes[at + 1] as number) & 0x7f;
      const headLength = short < 126 ? 2 : short === 126 ? 4 : 10;
      if (bytes.length < at + headLength) return frames;
      const length =
        short < 126
          ? short
          : short === 126
            ? bytes.readUInt16BE(at + 2)
            : Number(bytes.readBigUInt64BE(at + 2));
      const start = at + headLength;
      if (bytes.length < start + length) return frames;
      frames.push({
        opcode: (bytes[at] as number) & 0x0f,
        payload: bytes.subarray(start, start + length),
      });
      this.#taken = start + length;
    }
  }
}
