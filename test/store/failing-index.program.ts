/** Fills the index on a disk that fails: a limit on the size of files stands in for it. */
import { spawnSync } from 'node:child_process';
import { openStore } from '../../src/store/lmdb-store.js';
import { firstDataByte } from '../harness/disk/write-failure.js';
import { SimulatedClock } from '../support/simulated-clock.js';

process.on('SIGXFSZ', () => undefined);
const clock = new SimulatedClock();
const store = openStore(process.argv[2] as string, { clock });
await store.write((batch) => batch.put('emails', 'ann', 'u'));
spawnSync('prlimit', ['--pid', `${process.pid}`, `--fsize=${firstDataByte}:`]);
clock.advance(100);
setTimeout(() => process.exit(7), 10_000);
