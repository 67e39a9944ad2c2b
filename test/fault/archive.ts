/**
 * Signals of long ago, laid into the store while no gateway runs, so that every start sweeps them:
 * what is over goes, what must be retained stays whole, and what was cut off half-way is done by the
 * next life. Each batch has an owner that stays and one that the operator deletes.
 */
import { rmSync } from 'node:fs';
import { addUser } from '../../src/auth/accounts.js';
import { createIdSource } from '../../src/lib/ids.js';
import { systemClock } from '../../src/lib/clock.js';
import { lockDirectory } from '../../src/store/directory-lock.js';
import { openStore } from '../../src/store/lmdb-store.js';
import type { Store } from '../../src/store/store.js';
import type { Verdict } from '../support/verdict.js';
import { runCommand } from '../support/command.js';
import { Errand } from './errand.js';
import {
  acceptedAtOf,
  fates,
  isAsFated,
  isTorn,
  isUntouched,
  layDown,
  type Laid,
} from './fates.js';

const sweptWithinMs = 30_000;
type FateName = keyof typeof fates;
const rowsPerBatch: Readonly<Record<FateName, number>> = {
  over: 300,
  kept: 30,
  endedLate: 30,
  resting: 15,
  spent: 30,
  left: 150,
};
const rowsInAll = Object.values(rowsPerBatch).reduce((sum, rows) => sum + rows, 0);

export class Archive {
  /** Batches that a kill found half-swept. */
  cutHalfWay = 0;
  readonly #dataDir: string;
  readonly #verdict: Verdict;
  readonly #laid: Laid[] = [];
  #isSwept = true;
  /** userId of the owner that stays. */
  #keeper: string | undefined;
  /** When the newest signal with a spent key was accepted. */
  #spentAt = Date.now() - 2 * 86_400_000;

  constructor(dataDir: string, verdict: Verdict) {
    this.#dataDir = dataDir;
    this.#verdict = verdict;
  }

  /** No gateway may run. */
  async lay(): Promise<void> {
    const leaver = `leaver-${this.#laid.length}@example.com`;
    await this.#withStore(async (store) => {
      this.#keeper ??= await addOwner(store, 'keeper@example.com');
      const leaverId = await addOwner(store, leaver);
      // Of the spent keys the sweep looks only at those behind the place where it was last.
      this.#spentAt = Math.max(this.#spentAt, Number(store.get('meta', 'sweep:idempotency') ?? 0));
      await store.write((writer) => {
        for (const name of Object.keys(rowsPerBatch) as FateName[]) {
          const owner = name === 'left' ? leaverId : (this.#keeper as string);
          for (let i = 0; i < rowsPerBatch[name]; i++) {
            const acceptedAt =
              name === 'spent' ? ++this.#spentAt : acceptedAtOf(name, this.#laid.length);
            this.#laid.push(layDown(writer, owner, name, acceptedAt));
          }
        }
      });
    });
    const { code, stderr } = await new Errand(this.#dataDir, ['user', 'delete', leaver]).ended;
    this.#verdict.hold('a command that is left alone succeeds', code === 0, () => stderr);
    this.#isSwept = false;
  }

  /** At any moment: a signal is there as it was, or as its fate wants it, and never half. */
  async inspect(): Promise<void> {
    if (this.#isSwept) return;
    await this.#withStore((store) => {
      const torn = this.#laid.filter((laid) => isTorn(store, laid));
      this.#verdict.hold('a sweep leaves nothing half', torn.length === 0, () => torn.slice(0, 5));
      const latest = this.#laid.slice(-rowsInAll);
      const isBegun = latest.some((laid) => !isUntouched(store, laid));
      if (isBegun && latest.some((laid) => !isAsFated(store, laid))) this.cutHalfWay++;
    });
  }

  /** A gateway runs: in the end all has gone that is over, and all is there that is retained. */
  async inspectSwept(): Promise<void> {
    if (this.#isSwept) return;
    this.#isSwept = true;
    const end = performance.now() + sweptWithinMs;
    const isSwept = (): Promise<boolean> =>
      this.#withCopy((store) => this.#laid.every((laid) => isAsFated(store, laid)));
    while (!(await isSwept()) && performance.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    await this.#withCopy((store) => {
      const found = this.#laid.filter((laid) => !isAsFated(store, laid));
      this.#verdict.hold('what is over goes, what is retained stays', found.length === 0, () => [
        found.length,
        found.slice(0, 5),
      ]);
      const requests = store.keys('requests', { prefix: [this.#keeper as string] }).length;
      const expected = this.#laid.filter(({ fate }) => fates[fate].keepsRequest).length;
      this.#verdict.hold('the counts agree after a sweep', requests === expected, () => [
        requests,
        expected,
      ]);
    });
  }

  /** No gateway may run. */
  async #withStore(work: (store: Store) => void | Promise<void>): Promise<void> {
    const lock = await lockDirectory(this.#dataDir, 'command');
    const store = openStore(this.#dataDir);
    try {
      await work(store);
    } finally {
      await store.close();
      lock.release();
    }
  }

  /** A gateway has its store to itself: what is in it shows in a backup. */
  async #withCopy<T>(work: (store: Store) => T): Promise<T> {
    const copy = `${this.#dataDir}-swept`;
    const { code, stderr } = await runCommand(['backup', copy, '--data-dir', this.#dataDir]);
    this.#verdict.hold('a backup of a running gateway succeeds', code === 0, () => stderr);
    const store = openStore(copy);
    try {
      return work(store);
    } finally {
      await store.close();
      rmSync(copy, { recursive: true });
    }
  }
}

/** @returns its userId. */
async function addOwner(store: Store, email: string): Promise<string> {
  const user = await addUser(store, createIdSource(systemClock), {
    email,
    plan: 'business',
    passwordHash: '',
    confirmed: true,
    now: systemClock.now(),
  });
  if (typeof user === 'string') throw new Error(`${email}: ${user}`);
  return user.userId;
}
