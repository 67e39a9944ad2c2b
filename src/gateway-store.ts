/** Opens the store of a gateway. Reports what happens to its log, its index and the disk. */
import { every, type Clock } from './lib/clock.js';
import { sweeperModule } from './retention/sweep.js';
import { holdRecords } from './store/held-records.js';
import { openStore } from './store/lmdb-store.js';
import { commitLookMs, StorageHealth } from './store/storage-health.js';
import type { Store } from './store/store.js';
import type { Instruments } from './telemetry/instruments.js';
import type { Log } from './telemetry/log.js';

export interface GatewayStoreDeps {
  readonly dataDir: string;
  readonly clock: Clock;
  readonly instruments: Pick<
    Instruments,
    'commitLatency' | 'flushLatency' | 'commitsFailed' | 'indexFillsFailed'
  >;
  readonly log: Log;
}

export interface GatewayStore {
  readonly store: Store;
  readonly health: StorageHealth;
  /** Ends the checks for a hanging commit and the retries after a failure. Call it before the store closes. */
  stopLooking(): void;
}

export function openGatewayStore(deps: GatewayStoreDeps): GatewayStore {
  const { dataDir, clock, instruments, log } = deps;
  const health = new StorageHealth(clock, {
    onChange(isHealthy) {
      if (isHealthy) log.warn({ dataDir }, 'the disk takes writes again');
    },
    onOverdue(isOverdue) {
      if (isOverdue)
        log.error({ dataDir }, 'a commit hangs: nothing is accepted until it has ended');
      else log.warn({ dataDir }, 'the commit that hung has ended');
    },
  });
  /** The store tries every second: the log tells when a failure begins and when it ends. */
  let isIndexFailing = false;
  function tellIndexFailed(reason: string): void {
    if (isIndexFailing) return;
    isIndexFailing = true;
    const message = 'data.mdb cannot be written; the log keeps the commits that it lacks';
    log.error({ dataDir, reason }, message);
  }
  function lookAtIndex(): void {
    if (!isIndexFailing || store.index().failure !== undefined) return;
    isIndexFailing = false;
    log.warn({ dataDir }, 'data.mdb can be written again');
  }
  function tellCommitFailed(reason: string): void {
    const message = 'a commit failed: nothing is accepted until the disk takes writes';
    log.error({ dataDir, reason }, message);
  }
  const store = holdRecords(
    openStore(dataDir, {
      clock,
      sweeper: sweeperModule,
      commitLatency: instruments.commitLatency,
      flushLatency: instruments.flushLatency,
      onRecovered: ({ frames, bytes, isTorn }) => {
        if (bytes === 0 && !isTorn) return;
        log.info(
          { frames, bytes, isTorn },
          'the writes that the last process left in the log are in the store',
        );
      },
      onIndexFailed: (reason) => {
        instruments.indexFillsFailed.add();
        tellIndexFailed(reason);
      },
      onCommit: (failure) => {
        if (failure !== undefined) {
          instruments.commitsFailed.add();
          if (health.isHealthy) tellCommitFailed(failure.message);
        }
        health.noteCommit(failure === undefined);
      },
    }),
  );
  health.watch(store);
  const look = every(clock, commitLookMs, () => {
    health.look();
    lookAtIndex();
  });
  const stopLooking = (): void => {
    look.cancel();
    health.stop();
  };
  return { store, health, stopLooking };
}

/** @returns why the gateway is not ready, as far as its store is concerned; undefined if it is. */
export function obstacleOf({ store, health }: GatewayStore): string | undefined {
  if (health.isOverdue) return 'a commit hangs';
  if (!health.isHealthy) return 'the last commit failed';
  return store.index().failure === undefined ? undefined : 'data.mdb cannot be written';
}
