/**
 * The directory that holds all that outlives the process, and what lies in it beside the store: the
 * secret that signs user tokens. Which process may use it is decided by `directory-lock`.
 */
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { randomHex, randomSecret } from '../lib/ids.js';
import { StoreRefused } from './refusal.js';

const directoryMode = 0o700;
const fileMode = 0o600;
const othersMask = 0o077;

/** Lies beside the store, unless the secret is given with `SIGNALBOX_JWT_SECRET`. */
export const secretFile = 'jwt-secret';
/** A secret can be guessed offline from any token: less than 128 bits in base64url is no secret. */
export const jwtSecretLengthMin = 22;
/** All of the store that is durable. */
export const dataFile = 'data.mdb';
/** What of a backup is not whole yet. */
export const unfinishedBackup = 'unfinished';

/** @returns a warning for the operator when the directory was open to others, and now is not. */
export function prepareDataDirectory(directory: string): string | undefined {
  try {
    const isNew = mkdirSync(directory, { recursive: true, mode: directoryMode }) !== undefined;
    const mode = statSync(directory).mode & 0o777;
    // Also for a new one, since the umask may have taken away the owner's own rights.
    if (mode !== directoryMode) chmodSync(directory, directoryMode);
    if (isUnfinishedBackup(directory)) throw new StoreRefused(unfinishedMessage(directory));
    if (isNew || (mode & othersMask) === 0) return undefined;
    return (
      `The data directory ${directory} could be read by other users (mode ${mode.toString(8)}); ` +
      'it is now closed to them. If they read it before, replace its jwt-secret and the API keys.'
    );
  } catch (error) {
    if (error instanceof StoreRefused) throw error;
    throw new StoreRefused(
      `The data directory ${directory} cannot be used: ${reasonOf(error)}. It must be a directory ` +
        'that belongs to the user that runs Signalbox.',
      { cause: error },
    );
  }
}

/** Whether a store has been made in the directory, so that `openStore` would not make a new one. */
export function isStoreDirectory(directory: string): boolean {
  return existsSync(join(directory, dataFile));
}

/** Whether a backup into this directory was cut off or is under way: there is no store in it yet. */
export function isUnfinishedBackup(directory: string): boolean {
  return existsSync(join(directory, unfinishedBackup)) && !isStoreDirectory(directory);
}

/** A new store beside it would look like the restored one, and hold nothing. */
function unfinishedMessage(directory: string): string {
  return (
    `The directory ${directory} holds a backup that was cut off or is under way, and no store. ` +
    'Start with a backup that is complete, or give a directory of its own with --data-dir.'
  );
}

/**
 * The secret that signs user tokens: `given` if there is one, else the one kept in the directory,
 * which is made when it is missing. Whoever has it can log in as anybody.
 */
export function readJwtSecret(directory: string, given?: string): string {
  if (given !== undefined) {
    return acceptSecret(given, 'SIGNALBOX_JWT_SECRET is too short: give at least 22 characters.');
  }
  const path = join(directory, secretFile);
  try {
    makeSecret(path);
    chmodSync(path, fileMode);
    return acceptSecret(
      readFileSync(path, 'utf8').trim(),
      `The file ${path} is damaged: it should hold a secret and is shorter than one. Restore it ` +
        'from a backup, or delete it: users and their programs then have to log in again.',
    );
  } catch (error) {
    if (error instanceof StoreRefused) throw error;
    throw new StoreRefused(
      `The secret in ${path} cannot be read or made: ${reasonOf(error)}. The file must belong to ` +
        'the user that runs Signalbox.',
      { cause: error },
    );
  }
}

function acceptSecret(secret: string, refusal: string): string {
  if (secret.length < jwtSecretLengthMin) throw new StoreRefused(refusal);
  return secret;
}

/** Under its own name only when complete: neither a crash nor a second program leaves half a secret. */
function makeSecret(path: string): void {
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return;
  const draft = `${path}.${randomHex(8)}`;
  try {
    const file = openSync(draft, 'wx', fileMode);
    try {
      writeSync(file, `${randomSecret()}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    linkSync(draft, path);
  } catch (error) {
    // Another program was faster: its secret counts.
    if (!hasCode(error, 'EEXIST')) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
