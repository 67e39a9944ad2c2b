/**
 * Works on a data directory as the user to whom it belongs. A file that root made there could not be
 * opened by the gateway's user, and lmdb ends the process that cannot open its lock file.
 */
import { statSync } from 'node:fs';

/** Runs `work` with the owner's rights when root runs it on somebody else's directory. */
export async function asOwnerOf<T>(directory: string, work: () => Promise<T>): Promise<T> {
  const { geteuid, seteuid, getegid, setegid, getgroups, setgroups } = process;
  const owner = statSync(directory, { throwIfNoEntry: false });
  if (geteuid?.() !== 0 || owner === undefined || owner.uid === 0) return work();
  const [gid, groups] = [getegid?.() ?? 0, getgroups?.() ?? []];
  // The user last and root first: only root may change the groups.
  setgroups?.([owner.gid]);
  setegid?.(owner.gid);
  seteuid?.(owner.uid);
  try {
    return await work();
  } finally {
    seteuid?.(0);
    setegid?.(gid);
    setgroups?.(groups);
  }
}
