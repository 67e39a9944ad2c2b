/** How many files a process may have open, and has: each connection is one. Linux tells. */
import { readdirSync, readFileSync } from 'node:fs';

/** The soft limit, which Node raises to the hard one when it starts; undefined where the system does not tell. */
export function readFileLimit(pid: number | 'self'): number | undefined {
  try {
    const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
    const [, soft] = /^Max open files +(\d+|unlimited)/m.exec(limits) ?? [];
    return soft === undefined ? undefined : soft === 'unlimited' ? Infinity : Number(soft);
  } catch {
    // Other systems have no such file, and other users' processes do not show it.
    return undefined;
  }
}

/** Of this process. */
export function countOpenFiles(): number {
  return readdirSync('/proc/self/fd').length;
}
