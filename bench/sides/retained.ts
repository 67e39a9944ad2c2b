/**
 * What a gateway would find in its store after a month: terminals of its users and signals that it
 * accepted in the last month. Written by retain.ts in a process of its own, through the product's
 * store code, since another commit's may be the one to be used.
 */
import { constants, cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { dayMs } from '../../src/lib/durations.js';
import { syncFile } from '../../src/lib/durable-file.js';
import type { Product } from '../measure/product.js';
import { startSide } from '../measure/side.js';
import { newDirectory } from '../measure/workspace.js';
import type { GatewayConfig } from './gateway.js';
import type { Population } from './population.js';

export interface Retention {
  readonly product: Product;
  readonly population: Population;
  /** Signals in all, dealt out to the users in turn; each of them executed. */
  readonly requests: number;
  /** Whether all were accepted within one day, so long ago that all of their records are due to be removed. */
  readonly isDue?: boolean;
  /** Whether the last sweep was before all that are due; otherwise it was just now. */
  readonly isBehind?: boolean;
}

/**
 * The terminal of each user is known and active, and not connected: a signal then finds it, is queued
 * for it, and costs the writes of its acceptance and no others. No gateway of a bench lives as long
 * as this window, within which a terminal that was seen counts as active.
 */
export const queueing: GatewayConfig = { limits: { heartbeatWindowMs: dayMs }, plans: {} };

const program = fileURLToPath(new URL('./retain.js', import.meta.url));

/** @returns the newest requestId of each user; '' where there are fewer requests than users. */
export async function retain(retention: Retention): Promise<string[]> {
  const { product, population, requests, isDue = false, isBehind = false } = retention;
  const writer = await startSide({ name: 'retained requests', program, args: [product.root] });
  try {
    const { dataDir, users } = population;
    const userIds = users.map(({ userId }) => userId);
    const order = { dataDir, userIds, requests, isDue, isBehind };
    return (await writer.ask(order))['requestIds'] as string[];
  } finally {
    await writer.stop();
  }
}

/**
 * A copy of the population with a store of its own, flushed to disk: else the first commit of the
 * gateway that opens it would have to wait for the copy.
 */
export function copyOf(population: Population): Population {
  const dataDir = join(newDirectory('data'), 'data');
  cpSync(population.dataDir, dataDir, { recursive: true, mode: constants.COPYFILE_FICLONE });
  for (const name of readdirSync(dataDir, { recursive: true }))
    syncFile(join(dataDir, String(name)));
  return { ...population, dataDir };
}
