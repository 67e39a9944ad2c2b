/** Reads the version from package.json, for the command line and the metrics. */
import { readFileSync } from 'node:fs';

export function readVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
