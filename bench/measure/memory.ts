/** What a process holds for itself, without the files that it maps. */
import { readFileSync } from 'node:fs';

export function anonymousBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}
