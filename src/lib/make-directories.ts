/** Makes a directory and those above it. */
import { mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { isDirectory } from './is-directory.js';

/**
 * Makes them one by one: with `recursive`, Node's own never returns where a directory exists and takes no new one,
 * as /proc does. @returns the outermost one that was made; undefined when all were there.
 */
export function makeDirectories(path: string, mode: number): string | undefined {
  const directory = resolve(path);
  if (isDirectory(directory)) return undefined;
  const parent = dirname(directory);
  const outermost = parent === directory ? undefined : makeDirectories(parent, mode);
  try {
    mkdirSync(directory, { mode });
  } catch (error) {
    // Another process may have made it meanwhile.
    if (isDirectory(directory)) return outermost;
    throw error;
  }
  return outermost ?? directory;
}
