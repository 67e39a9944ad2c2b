/** Carries out an operation in the command's own process, which holds the directory's lock meanwhile. */
import { systemClock } from '../lib/clock.js';
import { createIdSource } from '../lib/ids.js';
import { noTrail } from '../model/trail-events.js';
import { openStore } from '../store/lmdb-store.js';
import { noEffects, type Operation, type OperationContext, type Rows } from './operation.js';
import { enforceOnDisk } from '../signals/stops-on-disk.js';
import { operations } from './operations.js';
import type { OperationName } from './requests.js';

export async function performLocally(
  settings: OperationContext['settings'],
  name: OperationName,
  request: unknown,
  rows: Rows,
): Promise<object> {
  const operation = operations[name] as Operation<unknown>;
  const refusal = operation.refuse?.(settings, request);
  if (refusal !== undefined) return refusal;
  const store = openStore(settings.dataDir);
  const clock = systemClock;
  const ids = createIdSource(clock);
  try {
    return await operation.run(
      {
        store,
        settings,
        clock,
        ids,
        effects: {
          ...noEffects,
          endUnsent: (userId) => enforceOnDisk(store, clock, userId),
          async cancelOrders(order) {
            const { cancelStoredOrders } = await import('../signals/stored-orders.js');
            return cancelStoredOrders({ store, clock, ids, limits: settings.limits }, order);
          },
        },
        trail: noTrail,
        importing: new Set(),
        ending: new Set(),
      },
      request,
      rows,
    );
  } finally {
    await store.close();
  }
}
