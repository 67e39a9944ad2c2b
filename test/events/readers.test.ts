/** Readers that read fast, slowly, no longer, or are gone: none misses an event, none harms the others. */
import t from 'tap';
import { memoryBytes } from '../../bench/measure/memory.js';
import { acknowledged, event, tell } from '../support/frames.js';
import { startTestGateway, type TestUser } from '../support/gateway.js';
import { eventually } from '../support/eventually.js';
import { openReader, type EventReader } from '../support/event-reader.js';
import type { Plugin } from '../support/plugin.js';

/** The plugins' limit is out of reach: here only readers are slow. */
const gateway = await startTestGateway(t, { limits: { pluginBytesPerSecond: 64 * 2 ** 20 } });
const pendingEventsMax = 256;

const numberOf = ({ data }: { data: any }): number => data.data.number;

function countTo(last: number): number[] {
  return Array.from({ length: last }, (_, index) => 1 + index);
}

function numbersIn(reader: EventReader): number[] {
  return reader.events.map(numberOf);
}

/** Publishes events of about 8 KiB up to `last`, at most 16 of them unacknowledged. */
async function publishLarge(plugin: Plugin, first: number, last: number): Promise<void> {
  for (let seq = first; seq <= last; seq++) {
    plugin.send(event(seq, { rawText: 'x'.repeat(8_000), data: { number: seq } }));
    if (seq % 16 === 0 || seq === last) await acknowledged(plugin, seq);
  }
}

/** Whether all three stream slots of the user are free again. */
async function isReaderGone(user: TestUser): Promise<boolean> {
  const others = [
    await openReader(gateway.url, user.key),
    await openReader(gateway.url, user.key),
    await openReader(gateway.url, user.key),
  ];
  for (const other of others) other.close();
  return others.every(({ status }) => status === 200);
}

t.test('a burst of 5000 events reaches three readers whole and in order', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const readers = [
    await openReader(gateway.url, user.key),
    await openReader(gateway.url, user.key),
    await openReader(gateway.url, user.key),
  ];
  const count = 5_000;
  for (const seq of countTo(count)) plugin.send(event(seq, { data: { number: seq } }));
  await acknowledged(plugin, count);
  for (const reader of readers) {
    await reader.received(count);
    t.same(numbersIn(reader), countTo(count));
    reader.close();
  }
  plugin.close();
});

/** Events of 8 KiB that the two sockets' own buffers take before a stopped reader has any pending. */
let heldBySockets = 0;

t.test('a reader that stops reading is closed, and costs bounded memory', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const pid = gateway.process.process.pid as number;
  // Fills the user's replay memory first, which is no cost of the reader.
  const first = 1_000;
  await publishLarge(plugin, 1, first);
  const stopped = await openReader(gateway.url, user.key);
  stopped.stopReading();
  const before = memoryBytes(pid, 'own');
  let last = first;
  while (!(await isReaderGone(user)) && last < 20_000) {
    await publishLarge(plugin, last + 1, last + 50);
    last += 50;
  }
  const grown = memoryBytes(pid, 'own') - before;
  t.ok(last < 20_000, `closed within ${last - first} events of 8 KiB`);
  t.ok(grown < 32 * 1024 * 1024, `${Math.round(grown / 1e6)} MB more`);

  stopped.readAgain();
  t.equal(await stopped.waitEnd(), 'broken', 'cut, not skipped over');
  const numbers = numbersIn(stopped);
  heldBySockets = numbers.length;
  t.same(numbers, countTo(first + heldBySockets).slice(first), 'what it got until then is whole');
  const pending = last - first - heldBySockets;
  t.ok(pending > pendingEventsMax && pending <= pendingEventsMax + 60, `with ${pending} pending`);

  const resumed = await openReader(gateway.url, user.key, { cursor: stopped.lastId });
  await resumed.received(1);
  t.equal(numberOf(resumed.events[0] as never), first + heldBySockets + 1, 'it resumes in place');
  resumed.close();
  plugin.close();
});

t.test('a slow reader that is within its bound recovers without loss', async (t) => {
  const count = heldBySockets + pendingEventsMax / 2;
  for (let round = 0; round < 2; round++) {
    const user = await gateway.user();
    const plugin = await gateway.plugin(user);
    const slow = await openReader(gateway.url, user.key);
    slow.stopReading();
    await publishLarge(plugin, 1, count);
    slow.readAgain();
    await tell(plugin, event(count + 1, { data: { number: count + 1 } }));
    await slow.received(count + 1);
    t.same(numbersIn(slow), countTo(count + 1));
    slow.close();
    plugin.close();
  }
});

t.test('a reader that stops and goes on again and again loses nothing', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const slow = await openReader(gateway.url, user.key);
  const rounds = 24;
  const each = 200;
  for (let round = 0; round < rounds; round++) {
    slow.stopReading();
    await publishLarge(plugin, round * each + 1, (round + 1) * each);
    slow.readAgain();
    await slow.received((round + 1) * each);
  }
  t.same(numbersIn(slow), countTo(rounds * each), `${(rounds * each * 8) / 1024} MiB`);
  slow.close();
  plugin.close();
});

t.test(
  'readers that vanish in the middle leave the others whole and their slots free',
  async (t) => {
    const user = await gateway.user();
    const plugin = await gateway.plugin(user);
    const steady = await openReader(gateway.url, user.key);
    let seq = 0;
    for (let round = 0; round < 10; round++) {
      const dying = [
        await openReader(gateway.url, user.key),
        await openReader(gateway.url, user.key),
      ];
      t.ok(dying.every(({ status }) => status === 200));
      for (let sent = 0; sent < 50; sent++) plugin.send(event(++seq, { data: { number: seq } }));
      for (const reader of dying) reader.response.socket.resetAndDestroy();
      await acknowledged(plugin, seq);
      await eventually(async () => {
        const probes = [
          await openReader(gateway.url, user.key),
          await openReader(gateway.url, user.key),
        ];
        for (const probe of probes) probe.close();
        return probes.every(({ status }) => status === 200);
      });
      await eventually(async () => {
        const probe = await openReader(gateway.url, user.key);
        probe.close();
        return probe.status === 200;
      });
    }
    await steady.received(seq);
    t.same(numbersIn(steady), countTo(seq));
    steady.close();
    plugin.close();
  },
);

t.test('a stopped reader does not delay the ones that read', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const stopped = await openReader(gateway.url, user.key);
  stopped.stopReading();
  const steady = await openReader(gateway.url, user.key);
  await publishLarge(plugin, 1, 2_000);
  await steady.received(2_000);
  t.same(numbersIn(steady), countTo(2_000));
  stopped.close();
  steady.close();
  plugin.close();
});
