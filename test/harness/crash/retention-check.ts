/**
 * Checks the retention sweep: seeds old signals into the store while no gateway runs, so that the next
 * start sweeps them. What has expired is removed, what is retained stays complete, and the next start
 * finishes an interrupted sweep. Each batch has a user that stays and a user that is deleted.
 */
import { rmSync } from 'node:fs';
import { addUser } from '../../../src/auth/accounts.js';
import { dayMs } from '../../../src/lib/durations.js';
import { createIdSource } from '../../../src/lib/ids.js';
import { systemClock } from '../../../src/lib/clock.js';
import { lockDirectory } from '../../../src/store/directory-lock.js';
import { openStore } from '../../../src/store/lmdb-store.js';
import type { Store } from '../../../src/store/store.js';
import { runCommand } from '../../support/command.js';
import type { Verdict } from '../verdict.js';
import { CliCommand } from './cli-command.js';
import {
  acceptedAtOf,
  retentionCases,
  isAsExpected,
  isPartial,
  isUntouched,
  seedSignal,
  type SeededSignal,
} from './retention-cases.js';

const sweptWithinMs = 30_000;
type CaseName = keyof typeof retentionCases;
const rowsPerBatch: Readonly<Record<CaseName, number>> = {
  finished: 300,
  recent: 30,
  endedLate: 30,
  working: 15,
  keyExpired: 30,
  userDeleted: 150,
};
const rowsInAll = Object.values(rowsPerBatch).reduce((sum, rows) => sum + rows, 0);

export class RetentionCheck {
  /** Batches whose sweep a kill interrupted. */
  interrupted = 0;
  readonly #dataDir: string;
  readonly #verdict: Verdict;
  readonly #seeded: SeededSignal[] = [];
  #isSwept = true;
  /** userId of the user that stays. */
  #keeper: string | undefined;
  /** acceptedAt of the newest signal with an expired key, Unix ms. */
  #keyExpiredAt = Date.now() - 2 * dayMs;

  constructor(dataDir: string, verdict: Verdict) {
    this.#dataDir = dataDir;
    this.#verdict = verdict;
  }

  /** Seeds a batch. Call it while no gateway runs. */
  async seed(): Promise<void> {
    const leaver = `leaver-${this.#seeded.length}@example.com`;
    await this.#withStore(async (store) => {
      this.#keeper ??= await addOwner(store, 'keeper@example.com');
      const leaverId = await addOwner(store, leaver);
      // The sweep continues after its last position: earlier expired keys would never be visited.
      this.#keyExpiredAt = Math.max(
        this.#keyExpiredAt,
        Number(store.get('meta', 'sweep:idempotency') ?? 0),
      );
      await store.write((writer) => {
        for (const name of Object.keys(rowsPerBatch) as CaseName[]) {
          const owner = name === 'userDeleted' ? leaverId : (this.#keeper as string);
          for (let i = 0; i < rowsPerBatch[name]; i++) {
            const acceptedAt =
              name === 'keyExpired'
                ? ++this.#keyExpiredAt
                : acceptedAtOf(name, this.#seeded.length);
            this.#seeded.push(seedSignal(writer, owner, name, acceptedAt));
          }
        }
      });
    });
    const { code, stderr } = await new CliCommand(this.#dataDir, ['user', 'delete', leaver]).ended;
    this.#verdict.hold('a command that is left alone succeeds', code === 0, () => stderr);
    this.#isSwept = false;
  }

  /** Checks what holds at any time: a signal is complete, or removed as its case says, and never partial. */
  async inspect(): Promise<void> {
    if (this.#isSwept) return;
    await this.#withStore((store) => {
      const partial = this.#seeded.filter((seeded) => isPartial(store, seeded));
      this.#verdict.hold('a sweep leaves nothing half', partial.length === 0, () =>
        partial.slice(0, 5),
      );
      const latest = this.#seeded.slice(-rowsInAll);
      const isBegun = latest.some((seeded) => !isUntouched(store, seeded));
      if (isBegun && latest.some((seeded) => !isAsExpected(store, seeded))) this.interrupted++;
    });
  }

  /** With a running gateway: waits until everything is as its case says. */
  async inspectSwept(): Promise<void> {
    if (this.#isSwept) return;
    this.#isSwept = true;
    const end = performance.now() + sweptWithinMs;
    const isSwept = (): Promise<boolean> =>
      this.#withCopy((store) => this.#seeded.every((seeded) => isAsExpected(store, seeded)));
    while (!(await isSwept()) && performance.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    await this.#withCopy((store) => {
      const found = this.#seeded.filter((seeded) => !isAsExpected(store, seeded));
      this.#verdict.hold('what is over goes, what is retained stays', found.length === 0, () => [
        found.length,
        found.slice(0, 5),
      ]);
      const requests = store.keys('requests', { prefix: [this.#keeper as string] }).length;
      const expected = this.#seeded.filter(
        ({ caseName }) => retentionCases[caseName].keepsRequest,
      ).length;
      this.#verdict.hold('the counts agree after a sweep', requests === expected, () => [
        requests,
        expected,
      ]);
    });
  }

  /** Call it while no gateway runs. */
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

  /** A running gateway is the only one to open its store, so this reads a backup of it. */
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
