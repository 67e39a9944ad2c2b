/**
 * Writes the directory that a power cut leaves of a simulated disk: all that is durable, and the part of the
 * rest that its fate spares. The fates are those that a real disk and file system may choose from.
 */
import { closeSync, ftruncateSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Chance } from '../chance.js';
import { SimulatedDirectory, setName, type Entry, type SimulatedDisk } from './simulated-disk.js';
import { sectorBytes, SimulatedFile, type Change } from './simulated-file.js';
import type { SystemCalls } from './system-calls.js';

/** Probabilities that an unsynced change survives: a name; bytes as a whole; if not as a whole, in part. */
interface Fate {
  readonly name: number;
  readonly whole: number;
  readonly torn: number;
}

export const fates = {
  'what is synced': { name: 0, whole: 0, torn: 0 },
  everything: { name: 1, whole: 1, torn: 0 },
  'names without bytes': { name: 1, whole: 0, torn: 0 },
  'any of it': { name: 0.5, whole: 0.5, torn: 0 },
  torn: { name: 0.5, whole: 0, torn: 1 },
  'little, torn': { name: 0.2, whole: 0.1, torn: 0.3 },
  'most, torn': { name: 0.9, whole: 0.5, torn: 0.5 },
} as const satisfies Record<string, Fate>;

export type FateName = keyof typeof fates;

/** Share of torn writes that leave old bytes, not zeros, in lost sectors beyond the file's durable end. */
const staleShare = 0.1;

/** Writes to `path` the files and directories that the power cut leaves. */
export function leaveDirectory(
  path: string,
  disk: SimulatedDisk,
  calls: SystemCalls,
  fateName: FateName,
  chance: Chance,
): void {
  const fate: Fate = fates[fateName];
  const kept = disk.names.filter(() => chance.happens(fate.name)).flatMap(({ names }) => names);

  function leave(target: string, directory: SimulatedDirectory): void {
    mkdirSync(target, { recursive: true, mode: 0o700 });
    const names = new Map<string, Entry>(directory.durable);
    for (const each of kept) {
      if (each.directory === directory) setName(names, each.name, each.entry);
    }
    for (const [name, entry] of names) {
      if (entry instanceof SimulatedDirectory) leave(join(target, name), entry);
      else leaveFile(join(target, name), entry);
    }
  }

  /** Makes two files of a file with two names, which is right as long as none is changed in place. */
  function leaveFile(target: string, file: SimulatedFile): void {
    const descriptor = openSync(target, 'w', 0o600);
    for (const { offset, bytes } of file.durable.parts()) writeAt(descriptor, offset, bytes);
    ftruncateSync(descriptor, file.durable.size);
    const changes = [...file.pending, ...calls.changesUnderWay(file)];
    for (const change of changes) leaveChange(descriptor, file, change);
    closeSync(descriptor);
  }

  function leaveChange(descriptor: number, file: SimulatedFile, change: Change): void {
    const isWhole = chance.happens(fate.whole);
    const isTorn = !isWhole && chance.happens(fate.torn);
    if (!isWhole && !isTorn) return;
    if (change.kind === 'resize') return ftruncateSync(descriptor, change.size);
    const survives = isWhole ? () => true : tear(change.sectors.length, chance);
    const isStale = chance.happens(staleShare);
    change.sectors.forEach(({ offset, bytes }, index) => {
      if (survives(index)) writeAt(descriptor, offset, bytes);
      else if (isStale && offset >= file.durable.size) {
        const old = Math.floor(file.durable.size / sectorBytes) - 1;
        const stale = file.durable.read(
          chance.between(0, Math.max(0, old)) * sectorBytes,
          sectorBytes,
        );
        writeAt(descriptor, offset, stale.subarray(0, bytes.length));
      }
    });
  }

  leave(path, disk.top);
}

/** @returns which sectors of a torn write survive: the first, the last or any; never all. */
function tear(sectors: number, chance: Chance): (index: number) => boolean {
  const edge = chance.between(0, sectors - 1);
  const kind = chance.weigh({ beginning: 1, end: 1, any: 1 });
  if (kind === 'beginning') return (index) => index < edge;
  if (kind === 'end') return (index) => index > edge;
  const lost = new Set(
    Array.from({ length: sectors }, (_, i) => i).filter(() => chance.happens(0.5)),
  );
  return (index) => index !== edge && !lost.has(index);
}

function writeAt(descriptor: number, offset: number, bytes: Buffer): void {
  for (let done = 0; done < bytes.length;) {
    done += writeSync(descriptor, bytes, done, bytes.length - done, offset + done);
  }
}
