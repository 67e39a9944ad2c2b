import { statSync } from 'node:fs';

/** False also below a file, where `statSync` throws even with `throwIfNoEntry: false`. Throws where it cannot look. */
export function isDirectory(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return false;
    throw error;
  }
}
