/** What copies of the store a data directory holds that are not done, or were left over. */
import { readdirSync } from 'node:fs';

export function stagedIn(dataDir: string): string[] {
  return readdirSync(dataDir).filter((name) => name.startsWith('staging-'));
}
