/** Where a stream begins: live, after a cursor without a gap, or with a `replay_gap`. */
import t from 'tap';
import { acknowledged, event, tell } from '../support/frames.js';
import { startTestGateway, type TestGateway, type TestUser } from '../support/gateway.js';
import { eventually } from '../support/eventually.js';
import { openReader, type EventReader } from '../support/event-reader.js';
import type { Plugin } from '../support/plugin.js';

const replayEventsMax = 400;
const gateway = await startTestGateway(t, { limits: { replayEventsMax } });

const numberOf = ({ data }: { data: any }): number => data.data.number;
const numbered = (seq: number, number = seq) => event(seq, { data: { number } });

/** Takes what has come and what comes, until the event with this number. */
async function takeUntil(reader: EventReader, number: number): Promise<number[]> {
  const numbers: number[] = [];
  while (numbers.at(-1) !== number) numbers.push(numberOf(await reader.next('terminal_message')));
  return numbers;
}

function countTo(last: number, first = 1): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

async function setUp(at: TestGateway = gateway): Promise<{ user: TestUser; plugin: Plugin }> {
  const user = await at.user();
  return { user, plugin: await at.plugin(user) };
}

t.test('without a cursor only what comes from now on', async (t) => {
  const { user, plugin } = await setUp();
  await tell(plugin, numbered(1));
  const reader = await openReader(gateway.url, user.key);
  await tell(plugin, numbered(2));
  t.equal(numberOf(await reader.next('terminal_message')), 2);
  t.equal(reader.count, 1);
  const empty = await openReader(gateway.url, user.key, { cursor: '' });
  await tell(plugin, numbered(3));
  t.equal(numberOf(await empty.next('terminal_message')), 3, 'an empty cursor is none');
  reader.close();
  empty.close();
  plugin.close();
});

t.test('ids are <epoch>-<seq>, grow by the user, and eventId repeats them', async (t) => {
  const { user, plugin } = await setUp();
  const reader = await openReader(gateway.url, user.key);
  for (const seq of [1, 2, 3]) await tell(plugin, numbered(seq));
  const events = [];
  for (let count = 0; count < 3; count++) events.push(await reader.next('terminal_message'));
  const epochs = new Set(events.map(({ id }) => id.split('-')[0]));
  t.equal(epochs.size, 1);
  const seqs = events.map(({ id }) => Number(id.split('-')[1]));
  t.same(seqs, [seqs[0], seqs[0]! + 1, seqs[0]! + 2]);
  t.ok(events.every(({ id, data }) => data.eventId === id));
  reader.close();
  plugin.close();
});

t.test('after a cursor comes everything since, then live, of its source alone', async (t) => {
  const { user, plugin } = await setUp();
  const other = await gateway.plugin(user, { instanceId: 'desk-2' });
  const first = await openReader(gateway.url, user.key);
  for (const seq of countTo(10)) {
    await tell(plugin, numbered(seq));
    await tell(other, numbered(seq, 1_000 + seq));
  }
  t.same(await takeUntil(first, 10), countTo(10));
  const ids = new Map<number, string>();
  const again = await openReader(gateway.url, user.key, { cursor: first.lastId });
  first.close();
  for (const seq of countTo(20, 11)) await tell(plugin, numbered(seq));
  while (ids.size < 10) {
    const next = await again.next('terminal_message');
    ids.set(numberOf(next), next.id);
  }
  t.same([...ids.keys()], countTo(20, 11));
  for (const cut of [11, 15, 19]) {
    const resumed = await openReader(gateway.url, user.key, { cursor: ids.get(cut) as string });
    t.same(await takeUntil(resumed, 20), countTo(20, cut + 1), `after ${cut}`);
    t.equal(resumed.events.length, 0);
    resumed.close();
  }
  again.close();
  plugin.close();
  other.close();
});

t.test(
  'over cuts at any moment of concurrent publishing nothing is lost, doubled or moved',
  async (t) => {
    const { user, plugin } = await setUp();
    const noise = await gateway.plugin(user, { instanceId: 'desk-2' });
    const count = 1_500;
    let published = 0;
    const publishing = (async () => {
      while (published < count) {
        const burst = 1 + Math.floor(Math.random() * 20);
        for (let sent = 0; sent < burst && published < count; sent++) {
          plugin.send(numbered(++published));
          noise.send(numbered(published, -1));
        }
        await acknowledged(plugin, published);
      }
    })();

    const seen: number[] = [];
    let cursor: string | undefined;
    let cuts = 0;
    while (seen.at(-1) !== count) {
      const reader = await openReader(
        gateway.url,
        user.key,
        cursor === undefined ? {} : { cursor },
      );
      const wanted = 1 + Math.floor(Math.random() * 120);
      for (let taken = 0; taken < wanted && seen.at(-1) !== count; taken++) {
        const next = await reader.next('terminal_message');
        seen.push(numberOf(next));
        cursor = next.id;
      }
      t.notOk(reader.events.some(({ name }) => name === 'replay_gap'));
      reader.close();
      cuts++;
    }
    await publishing;
    t.same(seen, countTo(count, seen[0]), `over ${cuts} cuts`);
    plugin.close();
    noise.close();
  },
);

t.test('a cursor that cannot be replayed: one replay_gap, then live', async (t) => {
  const { user, plugin } = await setUp();
  const reader = await openReader(gateway.url, user.key);
  await tell(plugin, numbered(1));
  const { id } = await reader.next('terminal_message');
  const [epoch, seq] = id.split('-') as [string, string];
  reader.close();
  const gone: Record<string, string> = {
    garbage: 'hello',
    'another epoch': `0123456789ab-${seq}`,
    'the future': `${epoch}-${Number(seq) + 100}`,
    'a far future': `${epoch}-999999999999999`,
    'no number': `${epoch}-`,
    'a negative number': `${epoch}--1`,
    'a fraction': `${epoch}-1.5`,
    'a leading zero': `${epoch}-0${seq}`,
    'too great a number': `${epoch}-99999999999999999999`,
    'eighty characters': 'x'.repeat(80),
  };
  let number = 1;
  for (const [name, cursor] of Object.entries(gone)) {
    const resumed = await openReader(gateway.url, user.key, { cursor });
    t.equal(resumed.status, 200, name);
    await tell(plugin, numbered(++number));
    await resumed.received(2);
    t.same(
      resumed.events.map(({ name }) => name),
      ['replay_gap', 'terminal_message'],
      name,
    );
    t.same(resumed.events[0]?.data, { reason: 'cursor_not_available' });
    t.equal(numberOf(resumed.events[1]!), number);

    const afterGap = await openReader(gateway.url, user.key, { cursor: resumed.events[0]!.id });
    t.equal(numberOf(await afterGap.next('terminal_message')), number, 'the gap’s own id resumes');
    afterGap.close();
    resumed.close();
  }
  plugin.close();
});

t.test(
  'what is beyond the number of replayed events is a gap, what is within is not',
  async (t) => {
    const { user, plugin } = await setUp();
    const reader = await openReader(gateway.url, user.key);
    const total = replayEventsMax + 10;
    for (const seq of countTo(total)) plugin.send(numbered(seq));
    await acknowledged(plugin, total);
    const ids: string[] = [];
    while (ids.length < total) ids.push((await reader.next('terminal_message')).id);
    reader.close();
    const within = await openReader(gateway.url, user.key, { cursor: ids[9] as string });
    t.same(await takeUntil(within, total), countTo(total, 11), 'the whole memory');
    within.close();
    const beyond = await openReader(gateway.url, user.key, { cursor: ids[8] as string });
    t.ok(await beyond.next('replay_gap'));
    t.equal(beyond.count, 1);
    beyond.close();
    plugin.close();
  },
);

t.test('a busy source does not push another one’s reader into a gap', async (t) => {
  const { user, plugin } = await setUp();
  const busy = await gateway.plugin(user, { instanceId: 'busy' });
  const reader = await openReader(gateway.url, user.key);
  await tell(plugin, numbered(1));
  const { id } = await reader.next('terminal_message');
  reader.close();
  for (const seq of countTo(replayEventsMax + 50)) busy.send(numbered(seq));
  await acknowledged(busy, replayEventsMax + 50);
  const resumed = await openReader(gateway.url, user.key, { cursor: id });
  await tell(plugin, numbered(2));
  t.equal(numberOf(await resumed.next('terminal_message')), 2);
  t.equal(resumed.count, 1, 'nothing of its source was lost, so there is no gap');
  resumed.close();
  plugin.close();
  busy.close();
});

t.test('what is older than the memory’s age is a gap', async (t) => {
  const forgetful = await startTestGateway(t, { limits: { replayAgeMs: 1_000 } });
  const { user, plugin } = await setUp(forgetful);
  const reader = await openReader(forgetful.url, user.key);
  for (const seq of [1, 2]) await tell(plugin, numbered(seq));
  const { id } = await reader.next('terminal_message');
  reader.close();
  const gap = await eventually(async () => {
    const resumed = await openReader(forgetful.url, user.key, { cursor: id });
    await resumed.received(1);
    resumed.close();
    return resumed.events[0]?.name === 'replay_gap';
  });
  t.ok(gap);
  plugin.close();
});

t.test('a cursor from before a restart is a gap', async (t) => {
  const { user, plugin } = await setUp();
  const reader = await openReader(gateway.url, user.key);
  await tell(plugin, numbered(1));
  const { id } = await reader.next('terminal_message');
  for (const end of ['SIGTERM', 'SIGKILL'] as const) {
    await gateway.restart(end);
    const back = await gateway.plugin(user);
    const resumed = await openReader(gateway.url, user.key, { cursor: id });
    t.same((await resumed.next('replay_gap')).data, { reason: 'cursor_not_available' }, end);
    resumed.close();
    back.cut();
  }
});

t.test('a stream that ends before its first event resumes from where it began', async (t) => {
  const { user, plugin } = await setUp();
  await tell(plugin, numbered(1));
  const cut = await openReader(gateway.url, user.key);
  await cut.retried(1);
  t.match(cut.first, /^retry: 1000\nid: [0-9a-f]+-\d+$/);
  t.equal(cut.count, 0);
  cut.close();
  await tell(plugin, numbered(2));
  const resumed = await openReader(gateway.url, user.key, { cursor: cut.lastId });
  t.equal(numberOf(await resumed.next('terminal_message')), 2);
  t.equal(resumed.count, 1, 'neither a gap nor what came before the first stream');
  t.match(resumed.first, `\nid: ${cut.lastId}`, 'it begins at its cursor');
  resumed.close();
  plugin.close();
});

t.test('a stream with a gap tells its id with the gap, not before it', async (t) => {
  const { user, plugin } = await setUp();
  const reader = await openReader(gateway.url, user.key, { cursor: 'ab-7' });
  t.match((await reader.next('replay_gap')).id, /^[0-9a-f]+-\d+$/);
  t.equal(reader.first, 'retry: 1000', 'so that none who is cut in between takes it for told');
  reader.close();
  plugin.close();
});
