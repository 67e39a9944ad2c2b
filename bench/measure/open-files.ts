/** Connections that one process may hold. Node itself raises its soft limit to the hard one. */
import { readFileLimit } from '../../src/lib/file-limit.js';

/** Files that a server or a generator has open beside its connections, with room to spare. */
const otherFiles = 200;

/** Throws, in words for the one who runs the bench, when a process could not hold so many connections. */
export function requireConnections(count: number): void {
  const limit = readFileLimit('self');
  const needed = count + otherFiles;
  if (limit === undefined || limit >= needed) return;
  throw new Error(
    `this bench opens ${count} connections at one process, and the limit of open files is ${limit}: ` +
      `raise it with "ulimit -Hn ${needed}" or in limits.conf`,
  );
}
