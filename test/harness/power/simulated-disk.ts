/**
 * The files and directories below one directory, as system calls make them, on a disk whose cache a power cut
 * empties. A name belongs to its directory and is durable after the directory’s sync, not after the file’s
 * own.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { SimulatedFile } from './simulated-file.js';

export class SimulatedDirectory {
  readonly durable = new Map<string, Entry>();
  readonly seen = new Map<string, Entry>();
}

export type Entry = SimulatedFile | SimulatedDirectory;

/** A change that survives whole or not at all: a rename with both its sides. */
export interface NameChange {
  readonly at: number;
  readonly names: readonly {
    readonly directory: SimulatedDirectory;
    readonly name: string;
    /** Undefined: the name is gone. */
    readonly entry: Entry | undefined;
  }[];
}

interface Place {
  readonly directory: SimulatedDirectory;
  readonly name: string;
}

export class SimulatedDisk {
  readonly top = new SimulatedDirectory();
  /** Changes of names that are not durable yet, in order. */
  names: NameChange[] = [];

  /** @param path the path of `top`, as the system calls name it. */
  constructor(readonly path: string) {}

  /** Loads the content of a real directory as durable. */
  load(from: string, into = this.top): void {
    for (const each of readdirSync(from, { withFileTypes: true })) {
      const entry = each.isDirectory() ? new SimulatedDirectory() : new SimulatedFile();
      if (!each.isDirectory() && !each.isFile()) continue;
      for (const names of [into.durable, into.seen]) names.set(each.name, entry);
      if (entry instanceof SimulatedDirectory) this.load(join(from, each.name), entry);
      else {
        entry.write(0, 0, readFileSync(join(from, each.name)), false);
        entry.sync(1);
      }
    }
  }

  /** @returns undefined for a path that is elsewhere or does not exist. */
  find(path: string): Entry | undefined {
    if (path === this.path) return this.top;
    const place = this.#placeOf(path);
    return place?.directory.seen.get(place.name);
  }

  /** The files as programs see them, with their paths below `top`. */
  *files(from = this.top, path = ''): Generator<[string, SimulatedFile]> {
    for (const [name, entry] of from.seen) {
      if (entry instanceof SimulatedFile) yield [`${path}/${name}`, entry];
      else yield* this.files(entry, `${path}/${name}`);
    }
  }

  /** Makes the entry unless there is one. */
  create(at: number, path: string, make: () => Entry): void {
    const place = this.#placeOf(path);
    if (place === undefined || place.directory.seen.has(place.name)) return;
    this.#change(at, [{ ...place, entry: make() }]);
  }

  link(at: number, from: string, to: string): void {
    const [entry, place] = [this.find(from), this.#placeOf(to)];
    if (entry !== undefined && place !== undefined) this.#change(at, [{ ...place, entry }]);
  }

  /** A file that moves elsewhere is gone; one that arrives from elsewhere is ignored. */
  rename(at: number, from: string, to: string): void {
    const entry = this.find(from);
    const [source, target] = [this.#placeOf(from), this.#placeOf(to)];
    if (source === undefined || entry === undefined) return;
    this.#change(at, [
      { ...source, entry: undefined },
      ...(target === undefined ? [] : [{ ...target, entry }]),
    ]);
  }

  remove(at: number, path: string): void {
    const place = this.#placeOf(path);
    if (place?.directory.seen.has(place.name) === true) {
      this.#change(at, [{ ...place, entry: undefined }]);
    }
  }

  /** Makes durable the changes of the directory's names that came before the call began. */
  syncNames(directory: SimulatedDirectory, begunAt: number): void {
    const isCovered = ({ at, names }: NameChange): boolean =>
      at < begunAt && names.some((name) => name.directory === directory);
    for (const { names } of this.names.filter(isCovered)) {
      for (const each of names) setName(each.directory.durable, each.name, each.entry);
    }
    this.names = this.names.filter((change) => !isCovered(change));
  }

  #change(at: number, names: NameChange['names']): void {
    for (const { directory, name, entry } of names) setName(directory.seen, name, entry);
    this.names.push({ at, names });
  }

  #placeOf(path: string): Place | undefined {
    if (!path.startsWith(`${this.path}/`)) return undefined;
    const directory = this.find(dirname(path));
    return directory instanceof SimulatedDirectory
      ? { directory, name: basename(path) }
      : undefined;
  }
}

export function setName(names: Map<string, Entry>, name: string, entry: Entry | undefined): void {
  if (entry === undefined) names.delete(name);
  else names.set(name, entry);
}
