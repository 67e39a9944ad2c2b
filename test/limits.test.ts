import t from 'tap';
import { limitNames, limitRelations, limits, unixMsMax, type Limits } from '../src/limits.js';

const minute = 60_000;
const day = 24 * 60 * minute;

/** The specification's Limits table under the contract's names, section 1, and those of its section 9. */
const documented = {
  bodyBytesMax: 65_536,
  jsonDepthMax: 16,
  idempotencyKeyLengthMax: 128,
  signalIdLengthMax: 128,
  instanceIdLengthMax: 128,
  ttlMsMax: 300_000,
  futureSkewMsMax: 60_000,
  activeKeysPerUserMax: 5,
  keyNameLengthMax: 80,
  keyLifetimeDaysMax: 365,
  userTokenLifetimeMs: day,
  keyRequestsPerMinute: 1_200,
  unauthenticatedAttemptsPerMinute: 60,
  loginAttemptsPerMinute: 10,
  streamsPerUserMax: 3,
  streamInstanceIdLengthMax: 128,
  streamAccountNameLengthMax: 128,
  lastEventIdLengthMax: 80,
  heartbeatWindowMs: 120_000,
  executionConfirmTimeoutMs: 60_000,
  cancelConfirmTimeoutMs: 30_000,
  idempotencyRetentionMs: day,
  staleProcessingMs: 5 * minute,
  replayEventsMax: 1_000,
  replayAgeMs: 10 * minute,
  subscriberPendingEventsMax: 256,
  rawTextLengthMax: 8_192,
  outgoingQueueEventsMax: 2_000,
  outgoingQueueAgeMs: 10 * minute,
  executionRetentionDays: 30,
  pluginFramesPerSecond: 1_000,
  pluginBytesPerSecond: 2 * 1_048_576,
  pluginConnectionsPerUser: 64,
  sourcesPerUser: 64,
  executionsPerSignal: 64,
  openExecutionsPerUser: 200_000,
  userRequestsPerMinute: 120,
  replayBytesPerUser: 8 * 1_048_576,
  replayBytesMax: 256 * 1_048_576,
  unsentBytesPerConnection: 1_048_576,
  cancelsPerOrder: 100,
  cancelAllsPerMinute: 120,
  fillsPerExecution: 10_000,
};

t.test('the limits and their values are the specification’s', async (t) => {
  t.strictSame(defaults(), documented);
  t.equal(unixMsMax, 253_402_300_799_999);
  t.equal(unixMsMax, Date.parse('9999-12-31T23:59:59.999Z'));
});

t.test('every limit stands within its own bounds', async (t) => {
  for (const name of limitNames) {
    const { value, min, max } = limits[name];
    t.ok(min <= value && value <= max, name);
  }
});

t.test(
  'the limits as shipped hold every relation; each relation can fail within the bounds',
  async (t) => {
    const shipped = defaults() as Limits;
    for (const { names, holds, message } of limitRelations) {
      t.ok(holds(shipped), message);
      const [first, second] = names;
      const broken = { ...shipped, [first]: limits[first].max, [second]: limits[second].min };
      t.notOk(holds(broken), message);
    }
  },
);

function defaults(): Record<string, number> {
  return Object.fromEntries(limitNames.map((name) => [name, limits[name].value]));
}
