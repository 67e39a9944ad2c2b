/** The short texts as which the store keeps a signal's records, against the records themselves. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import {
  type Execution,
  type ExecutionStatus,
  executionStates,
} from '../../src/model/execution.js';
import type { IdempotencyRecord, SignalRequest } from '../../src/model/records.js';
import { recordOfText, textOfRecord } from '../../src/store/record-text.js';

const text = fc.string({ unit: 'binary' });
const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
const nullable = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null });
const time = fc.nat();
const plain = { noNullPrototype: true } as const;
const fill = fc.record({ fillId: text, price: number, quantity: number, filledAt: text }, plain);

// Every member is listed, so that the comparison misses one that the store forgets.
const executionMembers: { [M in keyof Required<Execution>]: fc.Arbitrary<Execution[M]> } = {
  executionId: text,
  requestId: text,
  signalId: text,
  platform: text,
  instanceId: nullable(text),
  accountName: nullable(text),
  status: fc.constantFrom(...(Object.keys(executionStates) as ExecutionStatus[])),
  reasonCode: fc.constantFrom(null, 'no_active_terminal'),
  delivery: fc.constantFrom('not_sent', 'sent'),
  orderRef: nullable(text),
  side: nullable(text),
  executionType: nullable(text),
  instrument: nullable(text),
  quantity: nullable(number),
  limitPrice: nullable(number),
  filledQuantity: nullable(number),
  remainingQuantity: nullable(number),
  averageFillPrice: nullable(number),
  fills: fc.array(fill, { maxLength: 3 }),
  unlistedFills: fc.record(
    {
      count: time,
      quantity: number,
      value: number,
      lastIds: fc.array(text),
    },
    plain,
  ),
  fillRows: time,
  native: nullable(
    fc.record({ orderId: text, state: text, code: number, text: nullable(text) }, plain),
  ),
  createdAt: time,
  dispatchedAt: nullable(time),
  confirmedAt: nullable(time),
  updatedAt: time,
  cancel: fc.constantFrom(null, {
    cancelRequestId: 'can_1',
    attempt: 1,
    status: 'requested' as const,
    reasonCode: null,
    requestedAt: 1,
    dispatchedAt: null,
    updatedAt: 1,
    acknowledged: false,
  }),
  cancelKeys: fc.array(text),
  keyId: time,
  expiresAt: time,
  maySend: fc.boolean(),
};
const requestMembers: { [M in keyof Required<SignalRequest>]: fc.Arbitrary<SignalRequest[M]> } = {
  requestId: text,
  signalId: text,
  acceptedAt: time,
  ts: time,
  expiresAt: time,
  platform: text,
  type: text,
  cmd: text,
  instanceId: nullable(text),
  accountName: text,
  payload: fc.oneof(text, fc.json(), fc.constant('{\n"a":\r\n1}')),
  idempotencyKey: text,
  executionCount: time,
  signalsToday: time,
  undecidedFrom: text,
  keyId: time,
  traceId: text,
  clientAddress: text,
};

const execution = fc.record(executionMembers, {
  ...plain,
  requiredKeys: keysBut(executionMembers, ['keyId', 'fillRows', 'unlistedFills', 'cancelKeys']),
}) as fc.Arbitrary<Execution>;
const request = fc.record(requestMembers, {
  ...plain,
  requiredKeys: keysBut(requestMembers, [
    'keyId',
    'traceId',
    'clientAddress',
    'accountName',
    'undecidedFrom',
  ]),
}) as fc.Arbitrary<SignalRequest>;
const idempotency = fc.record<IdempotencyRecord>(
  { fingerprint: text, requestId: text, answer: fc.json(), expiresAt: time },
  plain,
);

function keysBut<R extends object>(members: R, optional: readonly (keyof R)[]): (keyof R)[] {
  return (Object.keys(members) as (keyof R)[]).filter((name) => !optional.includes(name));
}

const rows = fc.oneof(
  execution.map((record) => ['openExecutions', record.executionId, record] as const),
  execution.map((record) => ['finalExecutions', record.executionId, record] as const),
  request.map((record) => ['requests', record.requestId, record] as const),
  idempotency.map((record) => ['idempotency', 'key', record] as const),
);

t.test('a record is read as it was written, with the members that it had', (t) => {
  fc.assert(
    fc.property(rows, ([collection, id, record]) => {
      const read = recordOfText(collection, ['u1', id], textOfRecord(collection, record));
      assert.deepStrictEqual(read, record);
    }),
  );
  t.pass('whatever it holds');
  t.end();
});

t.test('a record of an earlier version, which named its members, is read', (t) => {
  fc.assert(
    fc.property(rows, ([collection, id, record]) => {
      const read = recordOfText(collection, ['u1', id], JSON.stringify(record));
      assert.deepStrictEqual(read, record);
    }),
  );
  t.pass('whatever it holds');
  t.end();
});

t.test('what has no text of its own lies as JSON', (t) => {
  const source = { platform: 'terminal_a', lastSeq: 7 };
  t.equal(textOfRecord('signalIds', 'req_1'), '"req_1"');
  t.equal(textOfRecord('sources', source as never), JSON.stringify(source));
  t.equal(recordOfText('apiKeyUses', 1, '1767225600000'), 1767225600000);
  t.end();
});

t.test('the payload lies there as the bot sent it', (t) => {
  const [sample] = fc.sample(request, 1) as [SignalRequest];
  const payload = '{ "quantity": 1.50,\n "instrument": "EUR\\u0055SD" }';
  const lies = textOfRecord('requests', { ...sample, payload });
  t.ok(lies.endsWith(`]\n${payload}`), lies);
  t.end();
});
