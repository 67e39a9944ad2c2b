import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { sourceKey } from '../../src/model/source-name.js';
import { encodeEvent, type TerminalEvent } from '../../src/events/terminal-event.js';

const event: TerminalEvent = {
  name: 'order_update',
  source: { platform: 'terminal_a', instanceId: 'desk-1', accountName: 'Sim101' },
  sourceKey: sourceKey({ platform: 'terminal_a', instanceId: 'desk-1', accountName: 'Sim101' }),
  occurredAt: '2026-01-15T12:00:00.000Z',
  data: { state: 'Working' },
};

t.test('an event is one SSE frame with the contract’s fields, unknown ones null', async (t) => {
  const frame = textOf(encodeEvent(event, 'ab-7', '2026-01-15T12:00:01.000Z', 8_192));
  const data = {
    eventId: 'ab-7',
    event: 'order_update',
    occurredAt: '2026-01-15T12:00:00.000Z',
    receivedAt: '2026-01-15T12:00:01.000Z',
    platform: 'terminal_a',
    instanceId: 'desk-1',
    accountName: 'Sim101',
    requestId: null,
    signalId: null,
    executionId: null,
    orderRef: null,
    rawText: null,
    rawTextTruncated: false,
    data: { state: 'Working' },
  };
  t.equal(frame, `id: ab-7\nevent: order_update\ndata: ${JSON.stringify(data)}\n\n`);
});

const cuts: [string, string, string][] = [
  ['as long as allowed', 'abcd', 'abcd'],
  ['one longer', 'abcde', 'abcd'],
  ['a pair of surrogates at the cut', 'abc😀', 'abc'],
  ['a pair of surrogates before the cut', 'ab😀e', 'ab😀'],
  ['empty', '', ''],
];
for (const [name, rawText, expected] of cuts) {
  t.test(`rawText is cut to its limit and marked: ${name}`, async (t) => {
    const parsed = decode(textOf(encodeEvent({ ...event, rawText }, 'e-1', '', 4)));
    t.equal(parsed['rawText'], expected);
    t.equal(parsed['rawTextTruncated'], rawText !== expected);
  });
}

t.test('whatever a terminal writes, the frame stays one frame and says the same', async () => {
  const texts = fc.string({ unit: 'binary', maxLength: 40 });
  fc.assert(
    fc.property(texts, fc.dictionary(texts, fc.jsonValue()), texts, (rawText, data, name) => {
      const source = { ...event.source, accountName: name };
      const frame = textOf(encodeEvent({ ...event, source, rawText, data }, 'e-1', '', 1_000));
      assert.equal(frame.split(/\r\n|\r|\n/).length, 5, 'three lines and the empty one');
      const parsed = decode(frame);
      assert.equal(parsed['rawText'], rawText);
      assert.equal(parsed['accountName'], name);
      assert.equal(JSON.stringify(parsed['data']), JSON.stringify(data));
    }),
  );
});

function textOf(frame: Uint8Array): string {
  return Buffer.from(frame).toString();
}

function decode(frame: string): Record<string, unknown> {
  return JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? '') as Record<string, unknown>;
}
