/** Whether the secret in the data directory is one that a start takes. */
import { asOwnerOf } from '../admin/owner.js';
import { isDirectory } from '../lib/is-directory.js';
import { hasJwtSecret, secretFile } from '../store/jwt-secret.js';
import { StoreRefused } from '../store/refusal.js';
import type { Check } from './check.js';
import { reporter } from './finding.js';
import { accessFault } from './store-access.js';

const report = reporter('secret');

export const checkSecret: Check = async ({ settings: { dataDir, jwtSecret } }) => {
  if (jwtSecret !== undefined) return [report.ok('The secret for user tokens is in the settings.')];
  // Reported by the check of the permissions.
  if (!isDirectory(dataDir) || accessFault(dataDir) !== undefined) return [];
  try {
    const isThere = await asOwnerOf(dataDir, () => hasJwtSecret(dataDir));
    const message = isThere
      ? `${secretFile} holds the secret for user tokens.`
      : `There is no ${secretFile}: the next start makes one, and users log in again.`;
    return [report.ok(message)];
  } catch (error) {
    if (!(error instanceof StoreRefused)) throw error;
    const [finding = '', ...remedy] = error.message.split(/(?<=\.) /);
    return [report.problem(finding, remedy.join(' '))];
  }
};
