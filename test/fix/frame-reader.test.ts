/** Bytes to messages and back: whatever the pieces, and whatever rubbish stands between. */
import fc from 'fast-check';
import t from 'tap';
import { bodyBytesMax, FrameReader, type Frame } from '../../src/fix/frame-reader.js';
import { encodeMessage, type Field, type FixMessage } from '../../src/fix/message.js';

const version = 'FIX.4.4';

/** @returns the text's bytes, with delimiters for `|`; it has its own length and checksum. */
const bytes = (text: string): Buffer => Buffer.from(text.replaceAll('|', '\x01'));
const framed = (body: string): Buffer => {
  const [type = '', ...fields] = body.split('|').map((field) => field.split('='));
  return encodeMessage(version, {
    type: type[1] as string,
    fields: fields.map(([tag, value]): Field => [Number(tag), value as string]),
  });
};
/** @returns the frame with `from` replaced by `to`, of the same length, and the checksum of the result. */
const rewritten = (body: string, from: string, to: string): Buffer => {
  const shown = framed(body).toString().replaceAll('\x01', '|').replace(from, to);
  const all = bytes(shown);
  const sum = all.subarray(0, -7).reduce((total, byte) => total + byte, 0) % 256;
  all.write(String(sum).padStart(3, '0'), all.length - 4);
  return all;
};
const kinds = (frames: Frame[]): string[] =>
  frames.map((frame) => (frame.kind === 'message' ? frame.message.type : frame.reason));

t.test('a message as the standard writes it', async (t) => {
  const message = {
    type: '0',
    fields: [
      [34, '2'],
      [49, 'TW'],
      [52, '20260131-12:00:00'],
      [56, 'ISLD'],
    ],
  };
  const encoded = encodeMessage(version, message as unknown as FixMessage);
  t.equal(
    encoded.toString().replaceAll('\x01', '|'),
    '8=FIX.4.4|9=45|35=0|34=2|49=TW|52=20260131-12:00:00|56=ISLD|10=209|',
  );
  t.strictSame(new FrameReader().push(encoded), [
    { kind: 'message', message: { beginString: version, ...message } },
  ]);
});

t.test('a message whose third field is not 35 is passed over, the next one read', async (t) => {
  const frames = new FrameReader().push(
    Buffer.concat([rewritten('35=0|34=2|49=TW', '|35=', '|34='), framed('35=1|34=3')]),
  );
  t.strictSame(kinds(frames), ['the third field is not 35', '1']);
});

t.test(
  '2d, 3c a field without a form is for the session to refuse, and the rest is read',
  async (t) => {
    const told: readonly [body: string, from: string, to: string, fields: Field[]][] = [
      ['35=8|34=2|39=0', '|39=', '|3g=', [[0, '3g=0']]],
      [
        '35=8|34=2|58=one two|39=0',
        'one two',
        'one|two',
        [
          [58, 'one'],
          [0, 'two'],
          [39, '0'],
        ],
      ],
      [
        '35=8|34=2|58=a|39=0',
        '|58=a|',
        '||58=|',
        [
          [0, ''],
          [58, ''],
          [39, '0'],
        ],
      ],
      [
        '35=8|34=2|354=2|355=é |39=0',
        '354=2',
        '354=1',
        [
          [354, '1'],
          [355, 'é '],
          [39, '0'],
        ],
      ],
      [
        '35=8|34=2|354=9|355=a|39=0',
        '|39=0',
        '|39=0',
        [
          [354, '9'],
          [355, 'a'],
          [39, '0'],
        ],
      ],
      // By its length the next field would begin before this one, and be read for ever.
      [
        '35=8|34=2|354=-13|355=a|39=0',
        '|39=0',
        '|39=0',
        [
          [354, '-13'],
          [355, 'a'],
          [39, '0'],
        ],
      ],
      // A length without its raw data: it reaches to the end of another field.
      [
        '35=8|34=2|354=8|58=abc|39=0',
        '|39=0',
        '|39=0',
        [
          [354, '8'],
          [58, 'abc'],
          [39, '0'],
        ],
      ],
      ['35=8|34=2|390=0', '|390=', '|039=', [[0, '039=0']]],
    ];
    for (const [body, from, to, fields] of told) {
      const frames = new FrameReader().push(rewritten(body, from, to));
      t.match(frames, [{ kind: 'message', message: { fields: [[34, '2'], ...fields] } }], to);
    }
  },
);

t.test('14a a tag number that is none is for the session to refuse', async (t) => {
  const frames = new FrameReader().push(
    Buffer.concat([framed('35=0|34=2|0=HI'), framed('35=0|34=3|-1=HI')]),
  );
  t.match(frames, [
    { message: { fields: [[34], [0, 'HI']] } },
    { message: { fields: [[34], [-1, 'HI']] } },
  ]);
});

t.test('2m a length too short or too long takes no other message with it', async (t) => {
  for (const length of ['12', '60', '200']) {
    const wrong = bytes(`8=FIX.4.4|9=${length}|35=0|34=2|49=TW|56=ISLD|10=000|`);
    const next = framed('35=D|34=3|11=a');
    const last = framed('35=D|34=4|58=' + 'x'.repeat(200));
    const frames = new FrameReader().push(Buffer.concat([wrong, next, last]));
    t.strictSame(kinds(frames).slice(-2), ['D', 'D'], length);
    t.equal(kinds(frames)[0], 'the length is wrong', length);
  }
});

t.test('2m a length that ends at a delimiter, or before what looks like a trailer', async (t) => {
  const body = '35=0|34=2|49=TW10=000|56=ISLD|';
  for (const length of [body.indexOf('49='), body.indexOf('10=')]) {
    const wrong = bytes(`8=FIX.4.4|9=${length}|${body}10=000|`);
    const frames = new FrameReader().push(Buffer.concat([wrong, framed('35=D|34=3|11=a')]));
    t.strictSame(kinds(frames), ['the length is wrong', 'D'], `${length}`);
  }
});

t.test('2t the first fields in another order', async (t) => {
  const frames = new FrameReader().push(
    Buffer.concat([bytes('35=0|8=FIX.4.4|9=5|34=2|10=121|'), framed('35=1|34=2')]),
  );
  t.equal(kinds(frames).at(-1), '1');
  t.equal(kinds(frames).filter((kind) => kind === '1').length, 1);
});

t.test('3b a wrong checksum', async (t) => {
  const wrong = framed('35=0|34=2');
  wrong[wrong.length - 2] = wrong[wrong.length - 2] === 0x30 ? 0x31 : 0x30;
  t.strictSame(kinds(new FrameReader().push(Buffer.concat([wrong, framed('35=1|34=3')]))), [
    'the checksum is wrong',
    '1',
  ]);
});

t.test('a length beyond the bound is not waited for, and one at the bound is', async (t) => {
  const frames = new FrameReader().push(
    Buffer.concat([bytes(`8=FIX.4.4|9=${bodyBytesMax + 1}|35=0|`), framed('35=1|34=3')]),
  );
  t.strictSame(kinds(frames), ['the body is too long', '1']);
  const fieldBytes = '35=B|58=|'.length;
  const longest = framed(`35=B|58=${'x'.repeat(bodyBytesMax - fieldBytes)}`);
  t.strictSame(kinds(new FrameReader().push(longest)), ['B']);
});

t.test('a message that begins behind rubbish is read, wherever the bytes are cut', async (t) => {
  const stream = Buffer.concat([bytes('rubbish|'), framed('35=1|34=2')]);
  for (let at = 0; at <= stream.length; at++) {
    const reader = new FrameReader();
    const frames = [...reader.push(stream.subarray(0, at)), ...reader.push(stream.subarray(at))];
    t.equal(kinds(frames).at(-1), '1', `cut at ${at}`);
  }
});

t.test('raw data may hold delimiters', async (t) => {
  const fields: Field[] = [
    [34, '1'],
    [95, '11'],
    [96, 'abc\x0110=000\x01'],
    [58, 'b'],
  ];
  const frames = new FrameReader().push(encodeMessage(version, { type: 'A', fields }));
  t.strictSame(frames, [{ kind: 'message', message: { beginString: version, type: 'A', fields } }]);
});

const messages = fc.array(
  fc.record({
    type: fc.stringMatching(/^[0-9A-Za-z]{1,2}$/),
    fields: fc.array(
      fc.tuple(
        fc.integer({ min: 36, max: 80 }),
        fc.string({ unit: 'grapheme', minLength: 1 }).map((text) => text.replaceAll('\x01', '.')),
      ),
    ),
  }),
  { minLength: 1, maxLength: 6 },
);

t.test('what is written is read, in whatever pieces it comes', async () => {
  fc.assert(
    fc.property(messages, fc.array(fc.integer({ min: 1, max: 40 })), (sent, sizes) => {
      const stream = Buffer.concat(sent.map((message) => encodeMessage(version, message)));
      const reader = new FrameReader();
      const frames: Frame[] = [];
      for (let at = 0, turn = 0; at < stream.length; turn++) {
        const size = sizes[turn % Math.max(1, sizes.length)] ?? stream.length;
        frames.push(...reader.push(stream.subarray(at, at + size)));
        at += size;
      }
      const expected = sent.map((message) => ({
        kind: 'message',
        message: { beginString: version, ...message },
      }));
      return JSON.stringify(frames) === JSON.stringify(expected);
    }),
  );
});

t.test('rubbish before and between costs no message that is whole', async () => {
  const rubbish = fc
    .uint8Array({ maxLength: 60 })
    .filter((noise) => !Buffer.from(noise).includes('8'));
  fc.assert(
    fc.property(messages, rubbish, (sent, noise) => {
      const reader = new FrameReader();
      const types: string[] = [];
      for (const message of sent) {
        for (const piece of [noise, encodeMessage(version, message)]) {
          for (const frame of reader.push(piece)) {
            if (frame.kind === 'message') types.push(frame.message.type);
          }
        }
      }
      return JSON.stringify(types) === JSON.stringify(sent.map(({ type }) => type));
    }),
  );
});

t.test('no bytes make it throw or wait for ever', async () => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 100 }),
    fc
      .constantFrom('8=FIX', '8=FIX.4.4\x019=', '10=000\x01', '9=5\x01', '35=0\x01')
      .map((text) => Buffer.from(text)),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const reader = new FrameReader();
      for (const each of pieces) reader.push(each);
      // More than any length that may have been announced.
      reader.push(Buffer.alloc(bodyBytesMax, '.'));
      const frames = reader.push(encodeMessage(version, { type: '0', fields: [] }));
      return frames.at(-1)?.kind === 'message';
    }),
    { numRuns: 40 },
  );
});

t.test(
  'a message of many fields of raw bytes is read once, not again for each of them',
  async (t) => {
    const fields = Array.from({ length: 1_000 }, (): Field => [90, '1']);
    const message = encodeMessage(version, { type: '0', fields });
    const { toString } = Buffer.prototype;
    let read = 0;
    t.intercept(Buffer.prototype, 'toString', {
      value(this: Buffer, ...range: Parameters<typeof toString>) {
        const text: string = toString.apply(this, range);
        read += text.length;
        return text;
      },
    });
    const frames = new FrameReader().push(message);
    t.strictSame(kinds(frames), ['0']);
    t.ok(read < 4 * message.length, `${read} of ${message.length} bytes`);
  },
);
