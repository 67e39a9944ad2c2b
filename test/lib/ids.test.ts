import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import {
  acceptedAtOf,
  cancelRequestIdOf,
  createIdSource,
  executionIdFrom,
  executionIdFromCancel,
  executionIdOf,
  firstRequestIdAt,
  isRequestId,
  orderRefOf,
  randomHex,
  randomSecret,
  requestIdOf,
  requestIdOfExecution,
} from '../../src/lib/ids.js';
import { SimulatedClock } from '../support/simulated-clock.js';

const ulid = '01KF0Z5Q00ABCDEFGHJKMNPQRS';

t.test('identifiers are computed from each other', async (t) => {
  const requestId = requestIdOf(ulid);
  const executionId = executionIdOf(requestId, 12);
  t.equal(requestId, `req_${ulid}`);
  t.equal(executionId, `exe_${ulid}_12`);
  t.equal(orderRefOf(executionId), `ord_${ulid}_12`);
  t.equal(cancelRequestIdOf(executionId, 3), `can_${ulid}_12_3`);
  t.equal(requestIdOfExecution(executionId), requestId);
  t.equal(executionIdFrom(orderRefOf(executionId)), executionId);
  t.equal(executionIdFrom(executionId), executionId);
  const beyond = `exe_${executionId.slice(4, 30)}_10000`;
  t.equal(executionIdFrom(orderRefOf(beyond)), beyond, 'beyond the 9,999th');
  t.equal(executionIdFromCancel(cancelRequestIdOf(beyond, 1)), beyond);
  t.equal(executionIdFromCancel(cancelRequestIdOf(executionId, 3)), executionId);
});

t.test('what is none of our identifiers is seen as such', async (t) => {
  for (const text of [
    '',
    ulid,
    `REQ_${ulid}`,
    `req_${ulid}x`,
    `req_8${ulid.slice(1)}`,
    `req_${ulid.slice(1)}`,
    `req_${ulid.toLowerCase()}`,
    `req_${ulid}\n`,
  ]) {
    t.notOk(isRequestId(text), text);
  }
  for (const text of [
    '',
    `ord_${ulid}`,
    `ord_${ulid}_`,
    `ord_${ulid}_01`,
    `ord_${ulid}_-1`,
    `req_${ulid}_0`,
    ` ord_${ulid}_0`,
    `ord_${ulid}_0_1`,
    `ord_${ulid}_1000000`,
  ]) {
    t.equal(executionIdFrom(text), undefined, text);
  }
  for (const text of [
    '',
    `can_${ulid}_0`,
    `can_${ulid}_0_0`,
    `can_${ulid}_0_01`,
    `can_${ulid}_0_1_1`,
  ]) {
    t.equal(executionIdFromCancel(text), undefined, text);
  }
});

t.test(
  'ULIDs only grow, also within a millisecond and when the wall clock steps back',
  async (t) => {
    const clock = new SimulatedClock();
    const ids = createIdSource(clock);
    let last = '';
    for (let i = 0; i < 500; i++) {
      const next = ids.ulid();
      t.ok(next > last || fail(`${next} after ${last}`));
      last = next;
      if (i % 7 === 0) clock.stepWall(-1_000_000);
      if (i % 11 === 0) clock.advance(1);
    }
  },
);

t.test('ids leave a time that lies more than a day ahead, as after a restart', async (t) => {
  const hour = 3_600_000;
  for (const { ahead, isFollowed } of [
    { ahead: 24 * hour, isFollowed: true },
    { ahead: 24 * hour + 1, isFollowed: false },
  ]) {
    const clock = new SimulatedClock();
    const ids = createIdSource(clock);
    clock.stepWall(ahead);
    const wrong = ids.ulid();
    clock.stepWall(-ahead);
    const next = [ids.ulid(), ids.ulid(), ids.ulid()];
    t.equal(next[0]! > wrong, isFollowed, `${ahead} ms`);
    t.equal(acceptedAtOf(requestIdOf(next[0]!)), clock.now() + (isFollowed ? ahead : 0));
    t.strictSame(next.toSorted(), next, 'and grow from there');
  }
});

t.test('a requestId tells when it was accepted, and lies after the first of its time', async () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 253_402_300_799_998 }), (at) => {
      const requestId = requestIdOf(createIdSource(new SimulatedClock(at)).ulid());
      assert(isRequestId(requestId));
      assert.equal(acceptedAtOf(requestId), at);
      assert(firstRequestIdAt(at) <= requestId && requestId < firstRequestIdAt(at + 1));
      assert.equal(acceptedAtOf(firstRequestIdAt(at)), at);
    }),
  );
});

t.test('no requestId lies before the first of a time before 1970', async (t) => {
  t.equal(firstRequestIdAt(-5), firstRequestIdAt(0));
});

t.test('secrets are long, of an alphabet that needs no escapes, and never the same', async (t) => {
  t.match(randomSecret(), /^[A-Za-z0-9_-]{43}$/);
  t.match(randomHex(6), /^[0-9a-f]{12}$/);
  t.equal(new Set(Array.from({ length: 100 }, () => randomSecret())).size, 100);
});

function fail(message: string): never {
  throw new Error(message);
}
