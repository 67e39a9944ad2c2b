/**
 * Users with keys and sessions, written into a new data directory by the product's own store code
 * before its gateway starts. The work is done by populate.ts in a process of its own, since another
 * commit's store code may be the one to be used.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Product } from '../measure/product.js';
import { startSide } from '../measure/side.js';
import { newDirectory } from '../measure/workspace.js';

export interface PopulationUser {
  readonly userId: string;
  readonly email: string;
  /** For a terminal plugin. */
  readonly sessionToken: string;
  /** Secrets, each with every scope. */
  readonly keys: readonly string[];
}

export interface Population {
  readonly dataDir: string;
  readonly users: readonly PopulationUser[];
  /** Of every user, in their order. */
  readonly keys: readonly string[];
}

export interface PopulateOptions {
  readonly product: Product;
  readonly users: number;
  /** At most 5, unless the config file of the gateway raises the limit. */
  readonly keysPerUser: number;
}

/** What every user logs in with. */
export const password = 'correct horse battery';

const program = fileURLToPath(new URL('./populate.js', import.meta.url));

export async function populate(options: PopulateOptions): Promise<Population> {
  const { product, users, keysPerUser } = options;
  const dataDir = join(newDirectory('data'), 'data');
  const writer = await startSide({ name: 'population', program, args: [product.root] });
  try {
    const made = await writer.ask({ dataDir, users, keysPerUser, password });
    const list = made['users'] as PopulationUser[];
    return { dataDir, users: list, keys: list.flatMap(({ keys }) => keys) };
  } finally {
    await writer.stop();
  }
}
