/** The protocol's documentation against the code, in both directions. */
import t from 'tap';
import { eventDataFields } from '../../src/events/event-data.js';
import { limits } from '../../src/limits.js';
import { executionsPerFrame, fillsPerFrame, framesPerUpgrade } from '../../src/plugins/budget.js';
import {
  badFramesMax,
  closeCodes,
  frameBytesMax,
  messageBytesMax,
  frameErrors,
  gatewayFrames,
  heartbeatMs,
  helloTimeoutMs,
  pluginFrames,
  pluginPath,
  seqJumpMax,
  subprotocol,
} from '../../src/plugins/protocol.js';
import { hourMs } from '../../src/lib/durations.js';
import { cancelResendMs, reportableCancelStatuses } from '../../src/model/cancellation.js';
import { executionStates, isFinal, reportableStatuses } from '../../src/model/execution.js';
import { reasonGroups } from '../../src/model/reason-codes.js';
import { capabilities } from '../../src/model/records.js';
import { namesIn, protocolDocument as document } from '../support/protocol-document.js';

const nameOf = (row: readonly string[]): string => namesIn(row[0])[0] ?? row[0] ?? '';

t.test('each frame has the documented fields, required where it says so', async (t) => {
  for (const [side, frames] of [
    ['From the plugin', pluginFrames],
    ['From the gateway', gatewayFrames],
  ] as const) {
    t.same(document.frames(side).sort(), Object.keys(frames).sort());
    for (const [type, schema] of Object.entries(frames)) {
      const { rows } = document.section(type, side);
      const documented = rows
        .filter((row) => !(nameOf(row) in frameErrors))
        .map((row) => [nameOf(row), row[1] === 'yes']);
      const required: readonly string[] = schema.required;
      const actual = Object.keys(schema.properties).map((name) => [name, required.includes(name)]);
      t.same(documented.sort(), actual.sort(), type);
    }
  }
});

t.test('error codes, and which of them count', async (t) => {
  const documented = document
    .section('error', 'From the gateway')
    .rows.filter((row) => row.length === 3 && nameOf(row) in frameErrors)
    .map((row) => [nameOf(row), row[1] === 'yes']);
  t.same(
    documented,
    Object.entries(frameErrors).map(([code, { counts }]) => [code, counts]),
  );
  t.match(document.section('error', 'From the gateway').text, 'at the third');
  t.equal(badFramesMax, 3);
});

t.test('close codes, and whether to come back', async (t) => {
  const documented = document
    .section('Ends of a connection')
    .rows.map((row) => [namesIn(row[1])[0], Number(row[0])]);
  t.same(documented, Object.entries(closeCodes));
});

t.test('statuses, their moves and whether they are final', async (t) => {
  const { rows } = document.section('Statuses');
  t.same(rows.map(nameOf), [...reportableStatuses]);
  for (const row of rows) {
    const status = nameOf(row) as (typeof reportableStatuses)[number];
    const next: readonly string[] = executionStates[status].next;
    t.equal(row[1] === 'yes', isFinal(status), `${status} is final or not`);
    const named = namesIn(row[3]);
    const finals = reportableStatuses.filter((other) => isFinal(other) && other !== 'unknown');
    const expected = /any other/.test(row[3] ?? '')
      ? reportableStatuses.filter((other) => other !== status)
      : /any final/.test(row[3] ?? '')
        ? [...new Set([...named, ...finals])]
        : named;
    t.same([...expected].sort(), [...next].sort(), status);
  }
});

t.test('reason codes', async (t) => {
  t.same(
    document.section('Reason codes').rows.map((row) => [row[0], namesIn(row[1])]),
    Object.entries(reasonGroups),
  );
});

t.test('the fields of each kind of event', async (t) => {
  const documented = document
    .section('Kinds of events')
    .rows.map((row) => [
      nameOf(row),
      [...(row[1] ?? '').matchAll(/`(\w+)` (\w+)/g)].map(([, name, type]) => [name, type]),
    ]);
  const actual = Object.entries(eventDataFields).map(([kind, fields]) => [
    kind,
    Object.entries(fields).map(([name, schema]) => [
      name,
      (schema as unknown as { type: string }).type,
    ]),
  ]);
  t.same(documented, actual);
});

t.test('numbers and names in the text', async (t) => {
  const frames = document.section('Frames').text;
  const connecting = document.section('Connecting').text;
  const ends = document.section('Ends of a connection').text;
  const budget = document.section('How much').text.replaceAll('\n', ' ');
  t.match(budget, `${limits.pluginFramesPerSecond.value} frames`);
  t.match(budget, `${limits.pluginBytesPerSecond.value} bytes a second`);
  t.match(budget, `may have ${limits.pluginConnectionsPerUser.value} connections`);
  t.match(budget, `counts as ${framesPerUpgrade} frames`);
  t.match(budget, `every ${executionsPerFrame.told} entries`);
  t.match(budget, `every ${executionsPerFrame.open} open executions`);
  t.match(budget, `every ${fillsPerFrame} fills`);
  t.match(budget, `${limits.sourcesPerUser.value} active sources`);
  t.match(ends, `${limits.sourcesPerUser.value} other active`);
  t.match(frames, `at most ${frameBytesMax}\nbytes`);
  t.match(frames, `above ${messageBytesMax} bytes`);
  t.match(connecting, `\`${pluginPath}\``);
  t.match(connecting, `\`${subprotocol}\``);
  t.match(connecting, `within ${helloTimeoutMs / 1000} seconds`);
  t.match(connecting, `limited to ${limits.loginAttemptsPerMinute.value} attempts a minute`);
  t.match(document.section('welcome', 'From the gateway').text, `${heartbeatMs} unless`);
  t.match(ends, `(${limits.heartbeatWindowMs.value / 1000} s unless`);
  t.match(document.section('Numbers and acknowledgements').text, `${seqJumpMax} (2^42)`);
  const commands = document.section('Commands').text;
  t.match(commands, `within ${limits.executionConfirmTimeoutMs.value / 1000} seconds`);
  t.match(commands, `${limits.cancelConfirmTimeoutMs.value / 1000} seconds bring no outcome`);
  t.match(commands, `or ${cancelResendMs / hourMs} hours have passed`);
  t.match(
    document.section('event', 'From the plugin').text,
    `${limits.rawTextLengthMax.value} char`,
  );
  t.match(
    document.section('Kinds of events').text,
    `at most ${limits.outgoingQueueEventsMax.value} of them or ${limits.outgoingQueueAgeMs.value / 60_000} minutes`,
  );
  const named = namesIn(
    document
      .section('hello', 'From the plugin')
      .rows.find((row) => nameOf(row) === 'capabilities')?.[2],
  );
  t.same(named, [...capabilities]);
  const cancels = document.section('cancel_report', 'From the plugin').rows;
  t.same(namesIn(cancels.find((row) => nameOf(row) === 'status')?.[2]), [
    ...reportableCancelStatuses,
  ]);
});
