import {
  chmodSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { open } from 'lmdb';
import t from 'tap';
import { Histogram, latencyBounds } from '../../src/lib/instruments.js';
import type { Execution } from '../../src/model/execution.js';
import { readKey, writeKey } from '../../src/store/key-encoding.js';
import { storeFormat } from '../../src/store/key-layout.js';
import { openStore, type StoreOptions } from '../../src/store/lmdb-store.js';
import type { Recovery } from '../../src/store/log/recovery.js';
import { StoreRefused } from '../../src/store/refusal.js';
import { storeContract } from '../contract/store.js';
import { acceptedSignal } from '../support/accepted-signal.js';
import { startProgram } from '../support/program.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { mountSmallDisk } from '../harness/disk/small-disk.js';
import { canBreakDisk } from '../harness/disk/write-failure.js';

t.test('the lmdb store keeps the store contract', async (t) => {
  storeContract(t, (t) => openStore(t.testdir(), { segmentBytes: 64 * 1024 }));
});

t.test('what was flushed is there after a reopen', async (t) => {
  const directory = t.testdir();
  const first = openStore(directory);
  await first.write((batch) => batch.put('emails', 'a@b.c', 'u'));
  await first.close();
  const second = openStore(directory);
  t.equal(second.get('emails', 'a@b.c'), 'u');
  await second.close();
});

t.test('a signalId is new only if neither a flushed nor a written one is there', async (t) => {
  const store = openStore(t.testdir());
  const put = (user: string, name: string): Promise<void> =>
    store.write((batch) => batch.put('signalIds', [user, name], 'r'));
  await put('one', 'b');
  const removed = store.write((batch) => batch.remove('signalIds', ['one', 'b']));
  const added = put('other', 'b');
  // After two look-ups that find nothing, the store looks for a gap between the names that it holds.
  for (const user of ['one', 'one', 'other', 'other'])
    t.equal(store.get('signalIds', [user, 'a']), undefined);
  t.equal(store.get('signalIds', ['one', 'b']), 'r', 'its removal is not on disk');
  await Promise.all([removed, added]);
  t.equal(store.get('signalIds', ['one', 'b']), undefined);
  t.equal(store.get('signalIds', ['other', 'b']), 'r', 'it was on its way');
  await store.close();
});

t.test('the writes of one turn are one write of the log, however many', async (t) => {
  const [commitLatency, flushLatency] = [
    new Histogram(latencyBounds),
    new Histogram(latencyBounds),
  ];
  const store = openStore(t.testdir(), { commitLatency, flushLatency });
  await store.write((batch) => batch.put('meta', 'first', 1));
  const writes = [];
  for (let i = 0; i < 5000; i++) {
    writes.push(
      store.write((batch) => {
        batch.put('signalIds', ['u', `${i}`], 'r');
        batch.put('emails', `${i}`, 'u');
      }),
    );
  }
  await Promise.all(writes);
  t.equal(flushLatency.count, 2);
  t.equal(new Set(writes).size, 1, 'and they share their promise');
  t.equal(commitLatency.count, 2);
  t.ok(commitLatency.sum >= flushLatency.sum);
  await store.close();
});

t.test('what was acknowledged survives SIGKILL, each write whole', async (t) => {
  const directory = t.testdir();
  const other = startProgram(t, 'store/endless-writer', [directory]);
  let acknowledged = -1;
  while (acknowledged < 40) acknowledged = Number(await other.next());
  await other.kill();
  for (const message of other.rest()) acknowledged = Number(message);
  const store = openStore(directory);
  const rows = store.range('meta', { start: 'turn:', end: 'turn;' });
  for (const { key, record } of rows) {
    const turn = key.slice('turn:'.length);
    const beside = store.range('signalIds', { prefix: [turn] });
    if (beside.length !== record) t.fail(`turn ${turn} is torn: ${beside.length} rows`);
  }
  t.ok(rows.length > acknowledged, `${rows.length} turns, ${acknowledged} acknowledged`);
  await store.close();
});

const skip = canBreakDisk ? false : 'needs prlimit';
t.test('when the disk fails, writes reject and the process lives', { skip }, async (t) => {
  const directory = t.testdir();
  const other = startProgram(t, 'store/overflowing-writer', [directory]);
  const { messages, indexFailure, sweepFailure, ...rest } = JSON.parse(await other.next());
  const kept = { 'before a': 'resolved', 'before b': 'resolved', after: 'resolved' };
  t.strictSame(rest, {
    unhandled: [],
    fates: { ...kept, 'under way': 'StoreFailure', behind: 'WriteRefused' },
    visible: ['before a', 'before b', 'after'],
    lastCommitOkAfterFailure: false,
    failedTransaction: 'StoreFailure',
    transactionVisible: false,
    lastCommitOkInTheEnd: true,
  });
  t.match(messages.sort(), [/^the log was not written: EFBIG/, /^the write before it failed/]);
  t.equal(indexFailure, messages[0], 'lmdb gets nothing until the log is written again');
  t.equal(sweepFailure, messages[0]);
  const store = openStore(directory);
  t.equal(store.get('emails', 'under way'), undefined, 'replaced by the next write');
  t.not(store.get('emails', 'after'), undefined);
  await store.close();
});

t.test('lmdb is told to show nothing that is not flushed', async (t) => {
  // Two opens of one file in a process share lmdb's environment, and must agree on its flags.
  const directory = t.testdir();
  const store = openStore(directory);
  t.throws(() => open(directory, { noSubdir: false, overlappingSync: true }), {
    message: /opened without this flag/,
  });
  await store.close();
});

t.test(
  'its files are for the owner alone, under any umask, also those made by another',
  async (t) => {
    const directory = t.testdir();
    const umask = process.umask(0);
    t.teardown(() => process.umask(umask));
    const first = openStore(directory);
    const modes = (): number[] =>
      ['data.mdb', 'lock.mdb'].map((name) => statSync(join(directory, name)).mode & 0o777);
    t.same(modes(), [0o600, 0o600]);
    await first.close();
    chmodSync(join(directory, 'data.mdb'), 0o644);
    const second = openStore(directory);
    t.same(modes(), [0o600, 0o600]);
    await second.close();
  },
);

t.test('a backup is a store with everything in it, for the owner alone', async (t) => {
  const directory = t.testdir({ live: {}, copy: {} });
  const store = openStore(join(directory, 'live'));
  await store.write((batch) => batch.put('meta', 'a', 1));
  const underWay = store.backup(join(directory, 'copy'));
  await store.write((batch) => batch.put('meta', 'b', 1));
  await underWay;
  t.equal(statSync(join(directory, 'copy', 'data.mdb')).mode & 0o777, 0o600);
  t.equal(statSync(join(directory, 'copy')).mode & 0o777, 0o700);
  const copy = openStore(join(directory, 'copy'));
  t.equal(copy.get('meta', 'a'), 1);
  await copy.close();
  await t.rejects(store.backup(join(directory, 'copy')), 'a copy is never overwritten');
  await store.close();
});

t.test('a new store gets the format mark', async (t) => {
  const store = openStore(t.testdir());
  t.equal(store.get('meta', 'format'), storeFormat);
  await store.close();
});

t.test('a store of the format without a log is taken over, with all that it holds', async (t) => {
  const directory = t.testdir();
  const old = open(directory, { noSubdir: false, overlappingSync: false, maxDbs: 20 });
  const options = { encoding: 'string' as const, keyEncoder: { writeKey, readKey } };
  await old.openDB<string>('meta', options).put('format', '1');
  await old.openDB<string>('emails', options).put('a@b.c', '"u"');
  await old.close();
  for (let i = 0; i < 2; i++) {
    const store = openStore(directory);
    t.equal(store.get('meta', 'format'), storeFormat);
    t.equal(store.get('emails', 'a@b.c'), 'u');
    t.equal(store.get('emails', 'new'), i === 0 ? undefined : 'v');
    await store.write((batch) => batch.put('emails', 'new', 'v'));
    await store.close();
  }
});

const disk = mountSmallDisk(4);
const noDisk = typeof disk === 'string' && disk;
t.test(
  'a takeover without room on the disk says so, and a later one succeeds',
  { skip: noDisk },
  async (t) => {
    if (typeof disk === 'string') return;
    t.teardown(() => disk.unmount());
    const directory = join(disk.path, 'data');
    const old = open(directory, { noSubdir: false, overlappingSync: false, maxDbs: 20 });
    const options = { encoding: 'string' as const, keyEncoder: { writeKey, readKey } };
    await old.openDB<string>('meta', options).put('format', '1');
    await old.close();
    disk.fill(0);
    t.throws(() => openStore(directory), {
      name: 'StoreRefused',
      message: /Check that its disk has space/,
    });
    disk.free();
    const store = openStore(directory);
    t.equal(store.get('meta', 'format'), storeFormat);
    await store.close();
  },
);

t.test('what is unknown in a store of the former format is found after the takeover', async (t) => {
  const directory = t.testdir();
  const old = open(directory, { noSubdir: false, overlappingSync: false, maxDbs: 20 });
  const options = { encoding: 'string' as const, keyEncoder: { writeKey, readKey } };
  await old.openDB<string>('meta', options).put('format', '1');
  const finals = old.openDB<string>('finalExecutions', options);
  const sent = { orderRef: 'ord_1', dispatchedAt: 1, cancel: null, updatedAt: 2 };
  const records = {
    flatten: { ...sent, status: 'unknown', orderRef: null },
    unknown: { ...sent, status: 'unknown' },
    filled: { ...sent, status: 'filled' },
  };
  for (const [id, record] of Object.entries(records))
    await finals.put(['u', id], JSON.stringify(record));
  await old.close();
  const store = openStore(directory);
  t.strictSame(
    store.range('unknownOrders'),
    ['flatten', 'unknown'].map((id) => ({ key: ['u', id], record: 2 })),
  );
  await store.close();
});

t.test('what is unknown and was not listed by an earlier build is listed, once', async (t) => {
  const directory = t.testdir();
  const { execution } = acceptedSignal({ userId: 'u' });
  const unknown: Execution = { ...execution, status: 'unknown', updatedAt: 7 };
  const native = { orderId: null, state: 'unknown', code: null, text: null };
  const key: [string, string] = ['u', execution.executionId];
  const earlier = openStore(directory);
  await earlier.write((batch) => {
    batch.put('finalExecutions', key, unknown);
    batch.put('finalExecutions', ['u', 'filled'], { ...execution, status: 'filled', native });
    batch.remove('meta', 'unknown:listed');
  });
  await earlier.close();
  const listedBy = async (options?: StoreOptions) => {
    const store = openStore(directory, options);
    const listed = store.range('unknownOrders');
    await store.write((batch) => batch.remove('unknownOrders', key));
    await store.close();
    return listed;
  };
  t.strictSame(await listedBy({ takesOver: false }), [], 'a doctor changes nothing');
  t.strictSame(await listedBy(), [{ key, record: 7 }]);
  t.strictSame(await listedBy(), []);
});

t.test('a log without its store is refused, and nothing is made beside it', async (t) => {
  const directory = t.testdir();
  const store = openStore(directory);
  await store.write((batch) => batch.put('meta', 'a', 1));
  await store.close();
  rmSync(join(directory, 'data.mdb'));
  t.throws(() => openStore(directory), {
    name: 'StoreRefused',
    message: /data\.mdb is missing.*Put the file back.*newest backup/,
  });
  t.strictSame(existsSync(join(directory, 'data.mdb')), false);
});

t.test('a new store is made where the directory of the log is a new disk', async (t) => {
  const store = openStore(t.testdir({ log: { 'lost+found': {} } }));
  await store.write((batch) => batch.put('meta', 'a', 1));
  await store.close();
});

t.test('a store without its log is refused, and with that of another store as well', async (t) => {
  const directory = t.testdir({ first: {}, second: {} });
  const [first, second] = [join(directory, 'first'), join(directory, 'second')];
  for (const each of [first, second]) {
    const store = openStore(each);
    await store.write((batch) => batch.put('meta', 'a', 1));
    await store.close();
  }
  renameSync(join(first, 'log'), join(directory, 'log'));
  t.throws(() => openStore(first), {
    name: 'StoreRefused',
    message: /log is missing\. It holds acknowledged writes.*newest backup/,
  });
  renameSync(join(second, 'log'), join(first, 'log'));
  t.throws(() => openStore(first), { message: /belongs to another store/ });
  rmSync(join(first, 'log'), { recursive: true });
  renameSync(join(directory, 'log'), join(first, 'log'));
  const store = openStore(first);
  t.equal(store.get('meta', 'a'), 1);
  await store.close();
});

t.test('what a killed process left in the log is told, and in the store', async (t) => {
  const directory = t.testdir();
  const first = openStore(directory, { clock: new SimulatedClock() });
  await first.write((batch) => batch.put('meta', 'a', 1));
  await first.write((batch) => batch.put('meta', 'a', 2));
  let told: Recovery | undefined;
  const second = openStore(directory, { onRecovered: (recovery) => (told = recovery) });
  t.match(told, { frames: 2, isTorn: false });
  t.equal(second.get('meta', 'a'), 2);
  await second.close();
  const third = openStore(directory, { onRecovered: (recovery) => (told = recovery) });
  t.match(told, { frames: 0, bytes: 0 }, 'after a close there is nothing');
  await third.close();
  await first.close();
});

t.test('a disk without room for what the log holds is refused with the reason', async (t) => {
  const directory = t.testdir();
  const first = openStore(directory, { clock: new SimulatedClock() });
  await first.write((batch) => batch.put('meta', 'a', 1));
  const diskSpace = () => ({ freeBytes: 1_000, sizeBytes: 2 ** 30 });
  t.throws(() => openStore(directory, { diskSpace }), {
    name: 'NoSpace',
    message: /needs .* to bring its log into data\.mdb.*Free some space/,
  });
  const second = openStore(directory);
  t.equal(second.get('meta', 'a'), 1);
  await second.close();
  await first.close();
});

t.test('a store of another format is refused, with both formats named', async (t) => {
  const directory = t.testdir();
  const store = openStore(directory);
  await store.write((batch) => batch.put('meta', 'format', 99));
  await store.close();
  t.throws(() => openStore(directory), {
    name: 'OtherFormat',
    message: new RegExp(
      `format 99; this version of Signalbox reads and writes format ${storeFormat}`,
    ),
  });
  await new Promise(setImmediate);
});

t.test('a store without the mark that is not empty is refused', async (t) => {
  const marked = t.testdir({ unmarked: {}, foreign: {} });
  const store = openStore(join(marked, 'unmarked'));
  await store.write((batch) => batch.remove('meta', 'format'));
  await store.close();
  t.throws(() => openStore(join(marked, 'unmarked')), StoreRefused);

  const foreign = open(join(marked, 'foreign'), { noSubdir: false, overlappingSync: false });
  await foreign.openDB('someone', {}).put('a', 1);
  await foreign.close();
  t.throws(() => openStore(join(marked, 'foreign')), { message: /not written by Signalbox/ });
  await new Promise(setImmediate);
});

t.test('a file that is no store, or only the beginning of one, is refused', async (t) => {
  // Without the check, lmdb would end the process by a signal.
  const directory = t.testdir({ foreign: { 'data.mdb': 'not a store'.repeat(1000) }, cut: {} });
  writeFileSync(join(directory, 'cut', 'data.mdb'), Buffer.alloc(20));
  for (const name of ['foreign', 'cut']) {
    t.throws(() => openStore(join(directory, name)), {
      name: 'StoreRefused',
      message: /is not a store, or is damaged/,
    });
  }
  t.match(readFileSync(join(directory, 'foreign', 'data.mdb'), 'utf8'), /^not a store/);
});

t.test('a lock file that cannot be opened is refused with the reason', async (t) => {
  // Without the check, lmdb would end the process by a signal.
  const directory = t.testdir();
  await openStore(directory).close();
  const path = join(directory, 'lock.mdb');
  rmSync(path);
  // A link to itself cannot be opened by any user, root included.
  symlinkSync(path, path);
  t.throws(() => openStore(directory), { name: 'StoreRefused', message: /ELOOP.*lock\.mdb/ });
});

t.test('a directory that does not let the store in is refused with the reason', async (t) => {
  const directory = t.testdir({ 'data.mdb': {} });
  t.throws(() => openStore(directory), StoreRefused);
});
