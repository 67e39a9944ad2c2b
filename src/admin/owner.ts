/**
 * Works on a data directory with the rights of its owner when root runs a command: the gateway's user
 * could not open a file that root made there, and lmdb ends the process that cannot open its lock file.
 */
import { statSync } from 'node:fs';
import { isDirectory } from '../lib/is-directory.js';

interface Rights {
  readonly uid: number;
  readonly gid: number;
  readonly groups: readonly number[];
}

/** Set while this process, started by root, has the rights of an owner. */
let dropped: { readonly caller: Rights; readonly owner: Rights } | undefined;
let callerWorks = 0;

/** Runs `work` with the owner's rights, if root runs it on the directory of another user. */
export async function asOwnerOf<T>(directory: string, work: () => T | Promise<T>): Promise<T> {
  const owner = foreignOwnerOf(directory);
  if (owner === undefined) return work();
  const caller = { uid: 0, gid: process.getegid?.() ?? 0, groups: process.getgroups?.() ?? [] };
  dropped = { caller, owner };
  take(owner);
  try {
    return await work();
  } finally {
    take(caller);
    dropped = undefined;
  }
}

/** Within `asOwnerOf`: runs `work` with the rights of the caller, such as for a file of its own. */
export async function asCaller<T>(work: () => T | Promise<T>): Promise<T> {
  if (dropped === undefined) return work();
  callerWorks++;
  take(dropped.caller);
  try {
    return await work();
  } finally {
    if (--callerWorks === 0) take(dropped.owner);
  }
}

/** Gives up root's rights for good, in a process of its own that works on nothing else. */
export function becomeOwnerOf(directory: string): void {
  const owner = foreignOwnerOf(directory);
  if (owner === undefined) return;
  process.setgroups?.([...owner.groups]);
  process.setgid?.(owner.gid);
  process.setuid?.(owner.uid);
}

/** @returns undefined unless this process is root's and the directory is not. */
function foreignOwnerOf(directory: string): Rights | undefined {
  if (process.geteuid?.() !== 0 || !isDirectory(directory)) return undefined;
  const stats = statSync(directory);
  if (stats.uid === 0) return undefined;
  return { uid: stats.uid, gid: stats.gid, groups: [stats.gid] };
}

/** Returns to root first and takes the user last: only root may change the groups. */
function take({ uid, gid, groups }: Rights): void {
  process.seteuid?.(0);
  process.setgroups?.([...groups]);
  process.setegid?.(gid);
  process.seteuid?.(uid);
}
