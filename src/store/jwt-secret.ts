/**
 * The secret that signs user tokens: its rules, and the file in the data directory that keeps it. Loads
 * neither lmdb nor the lock, since the settings need the rules.
 */
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { syncDirectory } from '../lib/durable-file.js';
import { errorText } from '../lib/error-text.js';
import { randomHex, randomSecret } from '../lib/ids.js';
import { privateFileMode } from '../lib/private-modes.js';
import { StoreRefused } from './refusal.js';

/** In the data directory, unless the secret is given with `SIGNALBOX_JWT_SECRET`. */
export const secretFile = 'jwt-secret';
/** A secret can be guessed offline from any token: at least 128 bits in base64url. */
export const jwtSecretLengthMin = 22;

/**
 * The secret that signs user tokens: `given` if there is one, else the one kept in the directory,
 * which is made when it is missing. It lets its holder log in as any user.
 */
export function readJwtSecret(directory: string, given?: string): string {
  if (given !== undefined) {
    const short = `SIGNALBOX_JWT_SECRET is too short: give at least ${jwtSecretLengthMin} characters.`;
    return acceptSecret(given, short);
  }
  return refusing(directory, (path) => {
    makeSecret(path);
    chmodSync(path, privateFileMode);
    return readSecret(path);
  });
}

/** Whether the directory has a secret; a start makes one where it has none. Throws `StoreRefused` for a bad one. */
export function hasJwtSecret(directory: string): boolean {
  return refusing(directory, (path) => {
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return false;
    readSecret(path);
    return true;
  });
}

function refusing<T>(directory: string, work: (path: string) => T): T {
  const path = join(directory, secretFile);
  try {
    return work(path);
  } catch (error) {
    if (error instanceof StoreRefused) throw error;
    throw new StoreRefused(
      `The secret in ${path} cannot be read or made: ${errorText(error)}. The file must belong to ` +
        'the user that runs Signalbox.',
      { cause: error },
    );
  }
}

function readSecret(path: string): string {
  return acceptSecret(
    readFileSync(path, 'utf8').trim(),
    `The file ${path} is damaged: it should hold a secret and is shorter than one. Restore it ` +
      'from a backup, or delete it: users and their programs then have to log in again.',
  );
}

function acceptSecret(secret: string, refusal: string): string {
  if (secret.length < jwtSecretLengthMin) throw new StoreRefused(refusal);
  return secret;
}

/** Names the file only when it is complete: neither a crash nor a second program leaves half a secret. */
function makeSecret(path: string): void {
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return;
  const draft = `${path}.${randomHex(8)}`;
  try {
    const file = openSync(draft, 'wx', privateFileMode);
    try {
      writeSync(file, `${randomSecret()}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    linkSync(draft, path);
    syncDirectory(dirname(path));
  } catch (error) {
    // Another program was faster: its secret counts.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}
