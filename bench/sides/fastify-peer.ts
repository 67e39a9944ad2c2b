/** Starts the peer of `submit` on the same users, keys and terminals as the gateway has. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scopes } from '../../src/model/scopes.js';
import { hashSecret } from '../../src/auth/secret-hash.js';
import { shippedPlans } from '../../src/plans.js';
import { thisProduct } from '../measure/product.js';
import { type Side, startSide } from '../measure/side.js';
import type { Population } from './population.js';

const program = join(thisProduct.root, 'bench', 'peers', 'fastify-sqlite.js');

export function startFastifyPeer(dataDir: string, { users }: Population): Promise<Side> {
  const file = join(dataDir, 'population.json');
  const owned = users.flatMap(({ userId, keys }) => keys.map((secret) => ({ userId, secret })));
  const population = {
    plans: shippedPlans,
    users: users.map(({ userId }) => ({ userId, plan: 'business' })),
    keys: owned.map(({ userId, secret }, index) => ({
      id: index + 1,
      userId,
      hash: hashSecret(secret),
      scopes,
    })),
    sources: users.map(({ userId }, user) => ({
      userId,
      platform: 'terminal_a',
      instanceId: 'desk-1',
      accountName: `account-${user}`,
    })),
  };
  writeFileSync(file, JSON.stringify(population));
  return startSide({
    name: 'Fastify + better-sqlite3',
    program,
    args: ['--data-dir', dataDir, '--population', file],
  });
}
