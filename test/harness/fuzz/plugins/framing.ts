/**
 * One connection with hand-made frames: first valid messages with unusual framing, which must count
 * like any other, then one violation of RFC 6455, which must end the connection; nothing from it on may
 * have an effect.
 */
import { eventually } from '../../../support/eventually.js';
import { openPlugin } from '../../../support/plugin.js';
import type { Chance } from '../../chance.js';
import type { TestBed } from '../test-bed.js';
import { withDeadline } from '../deadline.js';
import { encode, opcodes, textFrame, RawWebSocket } from './raw-websocket.js';

const { continuation, text, binary, close, ping, pong } = opcodes;
const nothing = Buffer.alloc(0);
const beyondFrames = 128 * 1024 + 1;
const beyondMessages = 256 * 1024 + 1;

/** Valid framings of the same message. */
const validFramings: readonly ((said: string, chance: Chance) => Buffer[])[] = [
  (said) => [encode(textFrame(said))],
  (said) => [encode(textFrame(said, { lengthBytes: 2 }))],
  (said) => [encode(textFrame(said, { lengthBytes: 8 }))],
  (said) => [encode({ opcode: ping, payload: Buffer.alloc(125, 1) }), encode(textFrame(said))],
  (said) => [encode({ opcode: pong, payload: nothing }), encode(textFrame(said))],
  (said, chance) => {
    const bytes = Buffer.from(said);
    const at = chance.between(0, bytes.length);
    return [
      encode({ opcode: text, payload: bytes.subarray(0, at), fin: false }),
      encode({ opcode: ping, payload: Buffer.from('between') }),
      encode({ opcode: continuation, payload: nothing, fin: false }),
      encode({ opcode: continuation, payload: bytes.subarray(at) }),
    ];
  },
  (said) => {
    const bytes = [...Buffer.from(said)];
    return bytes.map((byte, at) =>
      encode({
        opcode: at === 0 ? text : continuation,
        payload: Buffer.from([byte]),
        fin: at === bytes.length - 1,
      }),
    );
  },
];

/** Violations that must end the connection. */
const breaches: Readonly<Record<string, (said: string) => Buffer[]>> = {
  'a reserved bit': (said) => [encode(textFrame(said, { rsv: 1 }))],
  'the bit of a compression that was not agreed on': (said) => [
    encode(textFrame(said, { rsv: 4 })),
  ],
  'a reserved opcode': (said) => [encode(textFrame(said, { opcode: 3 }))],
  'a reserved control opcode': () => [encode({ opcode: 11, payload: nothing })],
  'a long ping': () => [encode({ opcode: ping, payload: Buffer.alloc(126) })],
  'a ping in fragments': () => [encode({ opcode: ping, payload: nothing, fin: false })],
  'a continuation of nothing': (said) => [
    encode({ opcode: continuation, payload: Buffer.from(said) }),
  ],
  'a new message within a message': (said) => [
    encode({ opcode: text, payload: nothing, fin: false }),
    encode(textFrame(said)),
  ],
  'a message that is too large': () => [encode(textFrame('x'.repeat(beyondMessages)))],
  'a length that no memory has': () => [
    encode(textFrame('', { length: 2n ** 63n, lengthBytes: 8 })),
  ],
  'a length beyond the limit, announced': () => [
    encode(textFrame('', { length: BigInt(beyondMessages), lengthBytes: 8 })),
  ],
  'fragments that are too large together': () => [
    encode({ opcode: text, payload: Buffer.alloc(200_000, 0x20), fin: false }),
    encode({ opcode: continuation, payload: Buffer.alloc(200_000, 0x20) }),
  ],
  'text that is not UTF-8': () => [
    encode({ opcode: text, payload: Buffer.from([0x7b, 0xc3, 0x28]) }),
  ],
  'text whose fragments are not UTF-8': () => [
    encode({ opcode: text, payload: Buffer.from([0xe2, 0x82]), fin: false }),
    encode({ opcode: continuation, payload: Buffer.from([0x28]) }),
  ],
  'half a surrogate pair': () => [
    encode({ opcode: text, payload: Buffer.from([0xed, 0xa0, 0x80]) }),
  ],
  'a close without a code': () => [encode({ opcode: close, payload: nothing })],
  'a close of one byte': () => [encode({ opcode: close, payload: Buffer.from([3]) })],
  'a close with a reason that is not UTF-8': () => [
    encode({ opcode: close, payload: Buffer.from([3, 0xe8, 0xff]) }),
  ],
  ...Object.fromEntries(
    [0, 999, 1000, 1001, 1004, 1005, 1006, 1015, 2999, 3000, 4501, 5000, 65535].map((code) => [
      `close ${code}`,
      () => [encode({ opcode: close, payload: Buffer.from([code >> 8, code & 0xff]) })],
    ]),
  ),
  'three frames that are too large': () =>
    Array.from({ length: 3 }, () => encode(textFrame('x'.repeat(beyondFrames)))),
  'three binary messages': (said) =>
    Array.from({ length: 3 }, () => encode({ opcode: binary, payload: Buffer.from(said) })),
};

/** @returns how many frames were sent. */
export async function runFraming(bed: TestBed, chance: Chance): Promise<number> {
  const { verdict } = bed.run;
  const { sessionToken } = bed.attacker;
  const mark = bed.isolation.markOf(bed.attacker.email);
  const source = { instanceId: `${mark}-socket`, accountName: `${mark}-socket` };
  const socket = await RawWebSocket.open(bed.url, sessionToken);
  if (socket === undefined) throw new Error('the upgrade was refused');
  const hello = { type: 'hello', platform: 'terminal_a', ...source, capabilities: [] };
  await socket.send(encode(textFrame(JSON.stringify(hello))));
  const welcome = await withDeadline(nextText(socket), () => 'no welcome on the wire');
  let seq = welcome['lastSeq'] as number;

  const event = (number: number): string =>
    JSON.stringify({
      type: 'event',
      seq: number,
      event: 'terminal_message',
      data: { text: `é ${mark}` },
    });
  const parts = Array.from({ length: chance.between(1, 5) }, () =>
    chance.pick(validFramings)(event(++seq), chance),
  ).flat();
  const name = chance.pick(Object.keys(breaches));
  const violation = (breaches[name] as (said: string) => Buffer[])(event(seq + 1));
  const bytes = Buffer.concat([...parts, ...violation, encode(textFrame(event(seq + 2)))]);
  const cuts = Array.from({ length: chance.pick([0, 1, 5, 20]) }, () =>
    chance.between(0, bytes.length),
  );
  await socket.send(bytes, cuts);
  await withDeadline(socket.client.closed(), () => `${name} does not end the connection`);
  for (const { payload } of socket.take())
    bed.isolation.search(bed.attacker.email, payload.toString());

  const acknowledged = async (instanceId: string): Promise<number> => {
    const plugin = await openPlugin(bed.url, sessionToken, { ...source, instanceId });
    plugin.send(event(1));
    const { seq: lastSeq } = await withDeadline(plugin.next('ack'), () => 'no acknowledgement');
    plugin.cut();
    return lastSeq as number;
  };
  // The probe's write queues behind the frames': its acknowledgement shows that they are on disk.
  await acknowledged(`${mark}-behind`);
  const after = await openPlugin(bed.url, sessionToken, source);
  after.cut();
  const again = await acknowledged(source.instanceId);
  verdict.hold(
    'what is framed rightly counts, and nothing from the breach on',
    again === seq,
    () => [name, again, seq],
  );
  return parts.length + violation.length + 1;
}

async function nextText(socket: RawWebSocket): Promise<Record<string, unknown>> {
  return eventually(() => {
    const frame = socket.take().find(({ opcode }) => opcode === text);
    return frame === undefined
      ? undefined
      : (JSON.parse(frame.payload.toString()) as Record<string, unknown>);
  }, 30_000);
}
