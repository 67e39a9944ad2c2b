import fc from 'fast-check';
import t from 'tap';
import { decodeFrame } from '../../src/plugins/decode-frame.js';
import {
  badFramesMax,
  closeCodes,
  frameBytesMax,
  helloTimeoutMs,
  heartbeatMs,
  pluginFrames,
  pluginPath,
  subprotocol,
} from '../../src/plugins/protocol.js';

t.test('the close codes and figures are the contract’s', async (t) => {
  t.strictSame(closeCodes, {
    server_draining: 4001,
    heartbeat_missed: 4002,
    too_slow: 4003,
    too_fast: 4004,
    replaced: 4501,
    bad_protocol: 4502,
    session_revoked: 4503,
    too_many_sources: 4504,
  });
  t.strictSame(
    { subprotocol, pluginPath, frameBytesMax, helloTimeoutMs, heartbeatMs, badFramesMax },
    {
      subprotocol: 'signalbox.plugin.v1',
      pluginPath: '/plugin/v1',
      frameBytesMax: 131_072,
      helloTimeoutMs: 5_000,
      heartbeatMs: 30_000,
      badFramesMax: 3,
    },
  );
});

t.test('the frames and their fields are the contract’s', async (t) => {
  const fields = Object.entries(pluginFrames).map(([type, schema]) => [
    type,
    Object.keys(schema.properties).join(' '),
  ]);
  const evidence =
    'status reasonCode filledQuantity remainingQuantity averageFillPrice fill native';
  t.strictSame(Object.fromEntries(fields), {
    hello: 'type platform instanceId accountName capabilities software executions',
    heartbeat: 'type',
    ack: 'type executionId cancelRequestId',
    report: `type seq executionId ${evidence} occurredAt`,
    cancel_report: 'type seq cancelRequestId status reasonCode native occurredAt',
    event: 'type seq event occurredAt data rawText executionId orderRef',
  });
  t.equal(
    Object.keys(pluginFrames.hello.properties.executions.items.properties).join(' '),
    `executionId ${evidence}`,
  );
});

const hello = {
  type: 'hello',
  platform: 'terminal_a',
  instanceId: '',
  accountName: 'Sim101',
  capabilities: ['submit'],
};
const report = { type: 'report', seq: 1, executionId: 'e', status: 'working' };
const event = { type: 'event', seq: 1, event: 'order_update' };
const fill = { fillId: 'f', price: 1, quantity: 1, filledAt: '2026-01-15T12:00:00Z' };

const good: [string, object][] = [
  ['the shortest hello', hello],
  ['no capabilities at all', { ...hello, capabilities: [] }],
  ['a heartbeat', { type: 'heartbeat' }],
  ['unknown fields', { type: 'heartbeat', more: null, __proto: 1 }],
  ['an ack of an execution', { type: 'ack', executionId: 'e' }],
  ['a report of a status alone', report],
  ['a report of all', { ...report, fill, native: { code: 7 }, reasonCode: 'no_quotes' }],
  ['a native code that is text', { ...report, native: { code: 'E7', orderId: '1' } }],
  ['a negative price', { ...report, averageFillPrice: -37.63, fill: { ...fill, price: -37.63 } }],
  ['a time with an offset', { ...report, occurredAt: '2026-01-15T12:00:00.123456789+05:30' }],
  ['an event without data', event],
  ['an event with a long raw text', { ...event, rawText: 'x'.repeat(100_000) }],
  ['lengths in UTF-16 units', { ...hello, instanceId: '😀'.repeat(64) }],
];
for (const [name, frame] of good) {
  t.test(`taken: ${name}`, async (t) => {
    t.strictSame(decode(JSON.stringify(frame)).frame, frame);
  });
}

const bad: [name: string, frame: string | object, error: string, field?: string][] = [
  ['no JSON', '{', 'not_json'],
  ['nothing', '', 'not_json'],
  ['a list', '[]', 'not_json'],
  ['null', 'null', 'not_json'],
  ['a number', '7', 'not_json'],
  ['a string', '"heartbeat"', 'not_json'],
  ['no type', {}, 'unknown_type'],
  ['another type', { type: 'welcome' }, 'unknown_type'],
  ['a type from an object’s inner parts', { type: 'constructor' }, 'unknown_type'],
  ['a type in a list', { ...hello, type: ['hello'] }, 'invalid_frame', 'type'],
  ['a type that has no text', { type: { toString: 1, valueOf: 2 } }, 'invalid_frame', 'type'],
  [
    'a hello without capabilities',
    { ...hello, capabilities: undefined },
    'invalid_frame',
    'capabilities',
  ],
  ['an unknown capability', { ...hello, capabilities: ['fly'] }, 'invalid_frame', 'capabilities.0'],
  ['an empty account', { ...hello, accountName: '' }, 'invalid_frame', 'accountName'],
  ['a long instanceId', { ...hello, instanceId: '😀'.repeat(65) }, 'invalid_frame', 'instanceId'],
  ['an ack of nothing', { type: 'ack', execution: 'e' }, 'invalid_frame'],
  ['null for what is not known', { ...report, reasonCode: null }, 'invalid_frame', 'reasonCode'],
  ['seq 0', { ...report, seq: 0 }, 'invalid_frame', 'seq'],
  ['a broken seq', { ...report, seq: 1.5 }, 'invalid_frame', 'seq'],
  ['a seq beyond exact integers', { ...report, seq: 2 ** 53 }, 'invalid_frame', 'seq'],
  ['seq as text', { ...report, seq: '1' }, 'invalid_frame', 'seq'],
  ['a status that is ours', { ...report, status: 'denied' }, 'invalid_frame', 'status'],
  ['an unknown reason', { ...report, reasonCode: 'because' }, 'invalid_frame', 'reasonCode'],
  ['a negative quantity', { ...report, filledQuantity: -1 }, 'invalid_frame', 'filledQuantity'],
  [
    'a fill of nothing',
    { ...report, fill: { ...fill, quantity: 0 } },
    'invalid_frame',
    'fill.quantity',
  ],
  [
    'a fill beyond all measure',
    { ...report, fill: { ...fill, quantity: 1e308 } },
    'invalid_frame',
    'fill.quantity',
  ],
  [
    'a price beyond all measure',
    { ...report, fill: { ...fill, price: -1e308 } },
    'invalid_frame',
    'fill.price',
  ],
  [
    'a total beyond all measure',
    { ...report, filledQuantity: 1e308 },
    'invalid_frame',
    'filledQuantity',
  ],
  [
    'a fill without an id',
    { ...report, fill: { ...fill, fillId: '' } },
    'invalid_frame',
    'fill.fillId',
  ],
  [
    'a time without a zone',
    { ...report, occurredAt: '2026-01-15T12:00:00' },
    'invalid_frame',
    'occurredAt',
  ],
  [
    'a time that is no moment',
    { ...report, occurredAt: '2026-13-45T99:99:99Z' },
    'invalid_frame',
    'occurredAt',
  ],
  [
    'a time whose year has five digits in UTC',
    { ...report, fill: { ...fill, filledAt: '9999-12-31T23:59:59-01:00' } },
    'invalid_frame',
    'fill.filledAt',
  ],
  ['a state that is no text', { ...report, native: { state: 5 } }, 'invalid_frame', 'native.state'],
  [
    'a cancel status that is ours',
    { type: 'cancel_report', seq: 1, cancelRequestId: 'c', status: 'not_sent' },
    'invalid_frame',
    'status',
  ],
  ['an event that is the stream’s', { ...event, event: 'replay_gap' }, 'invalid_frame', 'event'],
  ['data that is no object', { ...event, data: [] }, 'invalid_frame', 'data'],
  ['a number as text', { ...event, data: { quantity: '2' } }, 'invalid_frame', 'data.quantity'],
  ['rawText that is no text', { ...event, rawText: 5 }, 'invalid_frame', 'rawText'],
];
for (const [name, frame, error, field] of bad) {
  t.test(`refused: ${name}`, async (t) => {
    const text = typeof frame === 'string' ? frame : JSON.stringify(frame);
    t.strictSame({ field: undefined, ...decode(text) }, { error, field });
  });
}

t.test('of a long frame only what the schemas look at is parsed', async (t) => {
  const fill = { fillId: 'f1', price: 1, quantity: 2, filledAt: '2026-01-15T12:00:00Z' };
  const execution = { executionId: 'e1', status: 'working', fill, native: { text: 'x' } };
  const executions = Array.from({ length: 20 }, () => execution);
  const frame = { ...hello, capabilities: ['submit'], executions };
  t.strictSame(decode(JSON.stringify(frame)).frame, frame, 'all of a hello');

  const newNames = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`name${i}`, 'text']));
  const data = { snapshotId: 's1', positions: [newNames], orders: [{ of: newNames }], ...newNames };
  const told = decode(JSON.stringify({ ...event, event: 'state_snapshot', data }));
  t.match(told.frame, { data: { snapshotId: 's1', positions: [{}], orders: [{}] } });
  t.notMatch(JSON.stringify(told.frame), 'name499');
  const sent = new TextDecoder().decode(told.frame && told.bytes.data);
  t.equal(sent, JSON.stringify(data), 'the streams have all');
});

t.test('refused: in a long frame as in a short one', async (t) => {
  const long = { junk: { text: 'x'.repeat(2_000) } };
  for (const [name, frame, error, field] of bad) {
    if (typeof frame === 'string') continue;
    const answer = { field: undefined, ...decode(JSON.stringify({ ...frame, ...long })) };
    t.strictSame(answer, { error, field }, name);
  }
});

t.test('refused: bytes that are no UTF-8', async (t) => {
  t.strictSame(decodeFrame(new Uint8Array([0x22, 0xff, 0x22])), { error: 'not_json' });
  const deep = JSON.stringify({ ...event, data: { a: [[['x'.repeat(2_000)]]] } });
  t.ok(decode(deep).frame);
  t.strictSame(decodeFrame(Buffer.from(deep.replace('x', '\xff'), 'latin1')), {
    error: 'not_json',
  });
});

t.test('refused: nested so deeply that a reader’s stack would end', async (t) => {
  const deep = '[{"a":'.repeat(20_000);
  t.strictSame(decode(`{"type":"event","seq":1,"event":"order_update","data":{"a":${deep}`), {
    error: 'invalid_frame',
  });
});

t.test('whatever comes, it is a frame or has a reason', async () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.json(),
        fc.string(),
        fc
          .record(
            {
              type: fc.constantFrom(...Object.keys(pluginFrames)),
              seq: fc.integer(),
              executionId: fc.string(),
              status: fc.constantFrom('working', 'pending', 'x'),
              event: fc.constantFrom('order_update', 'x'),
              data: fc.jsonValue(),
            },
            { requiredKeys: ['type'] },
          )
          .map((frame) => JSON.stringify(frame)),
      ),
      (text) => {
        const { frame, error } = decode(text);
        return (frame === undefined) !== (error === undefined);
      },
    ),
    { numRuns: 500 },
  );
});

function decode(text: string) {
  return decodeFrame(new TextEncoder().encode(text));
}
