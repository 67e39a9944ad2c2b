/** A fresh gateway whose users have an executed signal each, for benches that read signals. */
import { executedCallers } from '../load/executed-signals.js';
import type { Product } from '../measure/product.js';
import { closeGateway, startGateway } from '../sides/gateway.js';
import { populate } from '../sides/population.js';
import type { OpenGateway } from './bare-comparison.js';

/** One of a user's five serves to execute the signal that the others read. */
export const keysPerUser = 4;

/** @param keys that read, at the least. */
export async function openExecutedGateway(product: Product, keys: number): Promise<OpenGateway> {
  const users = Math.ceil(keys / keysPerUser);
  const population = await populate({ product, users, keysPerUser: keysPerUser + 1 });
  const side = await startGateway({ product, population });
  const close = (): Promise<void> => closeGateway(side, population);
  try {
    return { side, callers: await executedCallers(side.url, population), close };
  } catch (error) {
    await close();
    throw error;
  }
}
