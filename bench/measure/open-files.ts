/** Connections that one process may hold. Node itself raises its soft limit to the hard one. */
import { readFileSync } from 'node:fs';

/** Files that a server or a generator has open beside its connections, with room to spare. */
const otherFiles = 200;

/** Throws, in words for the one who runs the bench, when a process could not hold so many connections. */
export function requireConnections(count: number): void {
  const limits = readFileSync('/proc/self/limits', 'latin1');
  const hard = /^Max open files\s+\S+\s+(\d+)/m.exec(limits)?.[1];
  const needed = count + otherFiles;
  if (hard === undefined || Number(hard) >= needed) return;
  throw new Error(
    `this bench opens ${count} connections at one process, and the limit of open files is ${hard}: ` +
      `raise it with "ulimit -Hn ${needed}" or in limits.conf`,
  );
}
