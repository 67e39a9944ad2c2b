/**
 * A directory that a power cut has left, opened by the product’s own code as a start does it: its store, and
 * the core that has read it, on a clock that stands at the moment of the cut.
 */
import { createUserTokens, type UserTokens } from '../../../src/auth/user-token.js';
import { Core } from '../../../src/core.js';
import { createIdSource } from '../../../src/lib/ids.js';
import { shippedPlans } from '../../../src/plans.js';
import { shippedPlatforms } from '../../../src/platforms.js';
import { routes } from '../../../src/routes.js';
import { SignalReader } from '../../../src/signals/signal-reader.js';
import { prepareDataDirectory } from '../../../src/store/data-directory.js';
import { lockDirectory } from '../../../src/store/directory-lock.js';
import { readJwtSecret } from '../../../src/store/jwt-secret.js';
import { openStore } from '../../../src/store/lmdb-store.js';
import { StorageHealth } from '../../../src/store/storage-health.js';
import type { Store } from '../../../src/store/store.js';
import { createInstruments } from '../../../src/telemetry/instruments.js';
import { RecordedTrail } from '../../support/recorded-trail.js';
import { shippedLimits } from '../../support/shipped-limits.js';
import { SimulatedClock } from '../../support/simulated-clock.js';

export interface World {
  readonly store: Store;
  /** Unix ms. */
  readonly now: number;
  readonly userTokens: UserTokens;
  readonly signals: SignalReader;
  close(): Promise<void>;
}

export async function openWorld(dataDir: string, now: number): Promise<World> {
  prepareDataDirectory(dataDir);
  const lock = await lockDirectory(dataDir, 'gateway');
  const clock = new SimulatedClock(now);
  const store = openStore(dataDir, { clock });
  const limits = shippedLimits();
  const userTokens = createUserTokens({
    secret: readJwtSecret(dataDir),
    clock,
    lifetimeMs: limits.userTokenLifetimeMs,
  });
  const health = new StorageHealth(clock);
  health.watch(store);
  const core = new Core({
    store,
    health,
    clock,
    ids: createIdSource(clock),
    limits,
    plans: shippedPlans,
    platforms: shippedPlatforms,
    instruments: createInstruments(routes),
    trail: new RecordedTrail(),
  });
  const load = core.load();
  while (load.next().done !== true);
  return {
    store,
    now,
    userTokens,
    signals: new SignalReader({ store, fillsMax: 10_000 }),
    async close() {
      await core.stop();
      await store.close();
      lock.release();
    },
  };
}
