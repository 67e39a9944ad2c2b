/**
 * What each traced system call does to a simulated disk, and which bytes it gives to a socket. Owns the table
 * of open files of one process. A call takes effect when it returns; until then it is under way.
 */
import { resolve } from 'node:path';
import type { Change } from './simulated-file.js';
import { SimulatedFile } from './simulated-file.js';
import { SimulatedDirectory, type Entry, type SimulatedDisk } from './simulated-disk.js';
import type { Call, TraceEvent } from './trace.js';

interface OpenFile {
  readonly entry: Entry | undefined;
  readonly isSynced: boolean;
  readonly isAppending: boolean;
  position: number;
}

export interface WriteUnderWay {
  readonly file: SimulatedFile;
  readonly offset: number;
  readonly bytes: Buffer;
}

export interface SocketWrite {
  /** As strace names it: unique on the machine. */
  readonly socket: string;
  readonly bytes: Buffer;
  /** When the call began: its bytes may be on their way from then on. */
  readonly at: number;
}

type Effect = (call: Call, at: number) => void;

export class SystemCalls {
  /** The last event after which something more was durable. */
  syncedAt = 0;
  readonly #disk: SimulatedDisk;
  readonly #open = new Map<number, OpenFile>();
  readonly #begunAt = new Map<Call, number>();
  readonly #effects: Readonly<Record<string, Effect>>;

  /** @param now events so far. */
  constructor(
    disk: SimulatedDisk,
    public now = 0,
  ) {
    this.#disk = disk;
    const create = (call: Call, at: number, make: () => Entry): void =>
      disk.create(at, pathOf(call, 0), make);
    const makeDirectory: Effect = (call, at) => create(call, at, () => new SimulatedDirectory());
    const remove: Effect = (call, at) => disk.remove(at, pathOf(call, 0));
    const rename: Effect = (call, at) => disk.rename(at, pathOf(call, 0), pathOf(call, 1));
    const link: Effect = (call, at) => disk.link(at, pathOf(call, 0), pathOf(call, 1));
    const write: Effect = (call, at) => this.#write(call, at);
    const sync: Effect = (call, at) => this.#sync(call, at);
    const resize: Effect = (call, at) => {
      const entry = this.#open.get(descriptorOf(call))?.entry;
      if (entry instanceof SimulatedFile) entry.resize(at, Number(call.args[1]));
    };
    this.#effects = {
      openat: (call, at) => this.#openat(call, at),
      lseek: (call) => this.#moveTo(call, call.result ?? 0),
      mkdir: makeDirectory,
      mkdirat: makeDirectory,
      unlink: remove,
      unlinkat: remove,
      rmdir: remove,
      rename,
      renameat: rename,
      renameat2: rename,
      link,
      linkat: link,
      write,
      writev: write,
      pwrite64: write,
      pwritev: write,
      pwritev2: write,
      fsync: sync,
      fdatasync: sync,
      ftruncate: resize,
      fallocate: (call, at) => this.#allocate(call, at),
    };
  }

  /** @returns what a write to a socket has sent. */
  take({ kind, call }: TraceEvent): SocketWrite | undefined {
    this.now++;
    if (kind === 'begin') {
      this.#begunAt.set(call, this.now);
      // Another thread may get the same descriptor before this call returns.
      if (call.name === 'close') this.#open.delete(descriptorOf(call));
      return undefined;
    }
    const { result = -1 } = call;
    const sent = this.#sentBy(call, result);
    if (result >= 0) this.#effects[call.name]?.(call, this.now);
    this.#begunAt.delete(call);
    return sent;
  }

  /**
   * Ends the process and its calls under way.
   * @param isDone whether a file write under way was carried out.
   * @returns the socket writes that may have been sent.
   */
  end(isDone: (write: WriteUnderWay) => boolean): SocketWrite[] {
    for (const write of this.#writesUnderWay()) {
      if (isDone(write)) write.file.write(++this.now, write.offset, write.bytes, false);
    }
    const sent = [...this.#begunAt.keys()].flatMap((call) => this.#sentBy(call) ?? []);
    this.#begunAt.clear();
    this.#open.clear();
    return sent;
  }

  /** Changes that writes under way would make to the file. */
  changesUnderWay(file: SimulatedFile): Change[] {
    return this.#writesUnderWay()
      .filter((write) => write.file === file)
      .map(({ offset, bytes }) => file.changeOf(offset, bytes));
  }

  #writesUnderWay(): WriteUnderWay[] {
    return [...this.#begunAt.keys()].flatMap((call) => {
      const open = isWrite(call) ? this.#open.get(descriptorOf(call)) : undefined;
      if (open === undefined || !(open.entry instanceof SimulatedFile)) return [];
      return [
        { file: open.entry, offset: offsetOf(call, open), bytes: Buffer.concat(call.strings) },
      ];
    });
  }

  #sentBy(call: Call, length = Infinity): SocketWrite | undefined {
    const socket = /<(socket:\[\d+\])>/.exec(call.args[0] ?? '')?.[1];
    if (socket === undefined || length < 0 || call.strings.length === 0) return undefined;
    const bytes = Buffer.concat(call.strings).subarray(0, length);
    return { socket, bytes, at: this.#begunAt.get(call) ?? this.now };
  }

  #openat(call: Call, at: number): void {
    const flags = (call.args[2] ?? '').split('|');
    const path = pathOf(call, 0);
    if (flags.includes('O_CREAT')) this.#disk.create(at, path, () => new SimulatedFile());
    const entry = this.#disk.find(path);
    if (flags.includes('O_TRUNC') && entry instanceof SimulatedFile && entry.seen.size > 0) {
      entry.resize(at, 0);
    }
    this.#open.set(call.result ?? -1, {
      entry,
      isSynced: flags.includes('O_DSYNC') || flags.includes('O_SYNC'),
      isAppending: flags.includes('O_APPEND'),
      position: 0,
    });
  }

  #write(call: Call, at: number): void {
    const open = this.#open.get(descriptorOf(call));
    if (open === undefined || !(open.entry instanceof SimulatedFile)) return;
    const offset = offsetOf(call, open);
    const bytes = Buffer.concat(call.strings).subarray(0, call.result);
    open.entry.write(at, offset, bytes, open.isSynced);
    if (open.isSynced) this.syncedAt = at;
    if (!hasOffset(call)) open.position = offset + bytes.length;
  }

  /** The first mode of fallocate: the file grows, and reads as zeros there. */
  #allocate(call: Call, at: number): void {
    const [, mode, offset, length] = call.args;
    const entry = this.#open.get(descriptorOf(call))?.entry;
    const size = Number(offset) + Number(length);
    if (entry instanceof SimulatedFile && mode === '0' && size > entry.seen.size) {
      entry.resize(at, size);
    }
  }

  #sync(call: Call, at: number): void {
    this.syncedAt = at;
    const entry = this.#open.get(descriptorOf(call))?.entry;
    const begunAt = this.#begunAt.get(call) ?? 0;
    if (entry instanceof SimulatedFile) entry.sync(begunAt);
    else if (entry !== undefined) this.#disk.syncNames(entry, begunAt);
  }

  #moveTo(call: Call, position: number): void {
    const open = this.#open.get(descriptorOf(call));
    if (open !== undefined) open.position = position;
  }
}

/** What strace is asked to show. */
export const tracedCalls = [
  ...['openat', 'close', 'lseek', 'mkdir', 'mkdirat', 'unlink', 'unlinkat', 'rmdir', 'rename'],
  ...['renameat', 'renameat2', 'link', 'linkat', 'write', 'writev', 'pwrite64', 'pwritev'],
  ...['pwritev2', 'fsync', 'fdatasync', 'ftruncate', 'fallocate', 'sendto', 'sendmsg'],
];

function isWrite({ name }: Call): boolean {
  return name.includes('write');
}

function hasOffset({ name }: Call): boolean {
  return name.startsWith('pwrite');
}

/** @returns where a write begins: at the end to append, where the call says, or where the last one ended. */
function offsetOf(call: Call, { entry, isAppending, position }: OpenFile): number {
  if (isAppending && entry instanceof SimulatedFile) return entry.seen.size;
  const place = call.name === 'pwritev2' ? -2 : -1;
  return hasOffset(call) ? Number(call.args.at(place)) : position;
}

function descriptorOf({ args: [first = ''] }: Call): number {
  return Number.parseInt(first, 10);
}

/** Resolves the call's string with this number against the directory that its argument before names. */
function pathOf({ args, strings }: Call, number: number): string {
  let place = -1;
  for (let left = number; left >= 0; left--) place = args.indexOf('""', place + 1);
  const from = /<(.*)>$/.exec(args[place - 1] ?? '')?.[1] ?? '/';
  return resolve(from, strings[number]?.toString() ?? '');
}
