import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { createDiskReserve, readDiskSpace, reserveBytes } from '../../src/store/disk-reserve.js';
import { openStore } from '../../src/store/lmdb-store.js';
import { WriteRefused } from '../../src/store/store.js';
import { SimulatedClock } from '../support/simulated-clock.js';

const gigabyte = 2 ** 30;

t.test('the reserve is 256 MB, and an eighth of what holds less than 2 GB', (t) => {
  t.equal(reserveBytes({ freeBytes: 0, sizeBytes: 100 * gigabyte }), gigabyte / 4);
  t.equal(reserveBytes({ freeBytes: 0, sizeBytes: gigabyte }), gigabyte / 8);
  t.end();
});

t.test('nothing is written below the reserve, and again from its edge on', (t) => {
  const clock = new SimulatedClock();
  let freeBytes = gigabyte / 4;
  const reserve = createDiskReserve(clock, () => ({ freeBytes, sizeBytes: 100 * gigabyte }));
  t.equal(reserve.refusal(), undefined);
  freeBytes--;
  clock.advance(10);
  t.match(reserve.refusal(), { name: 'WriteRefused', message: /256.0 MB must stay free/ });
  freeBytes++;
  clock.advance(10);
  t.equal(reserve.refusal(), undefined);
  const { message } = reserve.refusal(16 * 2 ** 20) ?? {};
  t.equal(
    message,
    'the disk has 256.0 MB free, and 256.0 MB must stay free beside a new file of 16.0 MB',
  );
  t.end();
});

t.test('the disk is looked at every 10 ms at most', (t) => {
  const clock = new SimulatedClock();
  let looks = 0;
  const reserve = createDiskReserve(clock, () => {
    looks++;
    return undefined;
  });
  for (let i = 0; i < 100; i++) reserve.refusal();
  t.equal(looks, 1);
  clock.advance(9);
  reserve.refusal();
  t.equal(looks, 1);
  clock.advance(1);
  reserve.refusal();
  t.equal(looks, 2);
  t.end();
});

t.test('where the system does not tell, the disk speaks for itself', (t) => {
  t.equal(readDiskSpace('/nowhere/at/all'), undefined);
  t.equal(createDiskReserve(new SimulatedClock(), () => undefined).refusal(), undefined);
  const space = readDiskSpace(t.testdir());
  t.ok(space !== undefined && space.freeBytes > 0 && space.freeBytes <= space.sizeBytes);
  t.end();
});

t.test(
  'a store on a full disk refuses before anything is handed on, and tells of it',
  async (t) => {
    const { store, outcomes, setFull, clock } = openOnDisk(t);
    await store.write((batch) => batch.put('meta', 'before', 1));
    setFull(true);
    clock.advance(10);
    let filled = false;
    const fill = (): void => void (filled = true);
    await t.rejects(store.write(fill), WriteRefused);
    await t.rejects(store.transact(fill), WriteRefused);
    t.equal(filled, false);
    t.equal(store.get('meta', 'before'), 1, 'reading goes on');
    t.same(outcomes, [true, false, false]);
    setFull(false);
    clock.advance(10);
    await store.write((batch) => batch.put('meta', 'after', 1));
    t.same(outcomes, [true, false, false, true]);
  },
);

t.test('what must not wait for space is written in the reserve, and is no recovery', async (t) => {
  const { store, outcomes, setFull, clock } = openOnDisk(t);
  await store.write((batch) => batch.put('meta', 'before', 1));
  setFull(true);
  clock.advance(10);
  await store.transact((batch) => batch.put('meta', 'urgent', 2), { usesReserve: true });
  t.equal(store.get('meta', 'urgent'), 2);
  t.same(outcomes, [true, false]);
  await t.rejects(
    store.write((batch) => batch.put('meta', 'other', 3)),
    WriteRefused,
  );
  setFull(false);
  clock.advance(10);
  await store.write((batch) => batch.put('meta', 'after', 4));
  t.same(outcomes, [true, false, false, true]);
});

t.test('the reserve can be used in a store that was opened without space', async (t) => {
  const directory = t.testdir();
  const first = openStore(directory);
  await first.write((batch) => batch.put('meta', 'before', 1));
  await first.close();
  const diskSpace = () => ({ freeBytes: gigabyte / 16, sizeBytes: gigabyte });
  const store = openStore(directory, { clock: new SimulatedClock(), diskSpace });
  t.teardown(() => store.close());
  await store.transact((batch) => batch.put('meta', 'urgent', 2), { usesReserve: true });
  t.equal(store.get('meta', 'urgent'), 2);
  await t.rejects(
    store.write((batch) => batch.put('meta', 'other', 3)),
    WriteRefused,
  );
});

t.test('of the reserve at most two files of the log are taken', async (t) => {
  const directory = t.testdir();
  const clock = new SimulatedClock();
  let freeBytes = gigabyte;
  const diskSpace = () => ({ freeBytes, sizeBytes: gigabyte });
  const store = openStore(directory, { clock, diskSpace });
  freeBytes = 0;
  clock.advance(10);
  for (let i = 0; i < 3; i++) {
    await store.transact((batch) => batch.put('meta', 'urgent', i), { usesReserve: true });
  }
  await store.close();
  t.equal(readdirSync(join(directory, 'log')).length, 2);
});

function openOnDisk(t: Test) {
  const clock = new SimulatedClock();
  const outcomes: boolean[] = [];
  let isFull = false;
  const store = openStore(t.testdir(), {
    clock,
    onCommit: (failure) => outcomes.push(failure === undefined),
    diskSpace: () => ({ freeBytes: isFull ? 0 : gigabyte, sizeBytes: gigabyte }),
  });
  t.teardown(() => store.close());
  return { store, outcomes, clock, setFull: (full: boolean) => (isFull = full) };
}
