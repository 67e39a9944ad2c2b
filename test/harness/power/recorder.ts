/**
 * Runs one gateway process after another under strace on one data directory, and keeps what each wrote to its
 * files and sockets. A process ends alone or together with the power; the next one begins with the files that
 * are left. Owns the traces, in memory, and the directories that cuts between two processes have left.
 */
import {
  closeSync,
  cpSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../../support/eventually.js';
import { startGateway, type GatewayProcess } from '../../support/gateway-process.js';
import type { Chance } from '../chance.js';
import type { Verdict } from '../verdict.js';
import { Departures } from './departures.js';
import { leaveDirectory, type FateName } from './power-cut.js';
import { SimulatedDisk } from './simulated-disk.js';
import type { SimulatedFile } from './simulated-file.js';
import { SystemCalls, tracedCalls, type WriteUnderWay } from './system-calls.js';
import { readTrace, type TraceEvent } from './trace.js';

/** For each write that was under way when the process was killed: whether the file has its bytes. */
type Outcomes = readonly boolean[];

interface Life {
  readonly events: readonly TraceEvent[];
  readonly outcomes: Outcomes;
  /** The directory that the power cut at its end left; undefined: the power stayed on. */
  readonly leftBehind: string | undefined;
}

export interface Moment {
  readonly disk: SimulatedDisk;
  readonly calls: SystemCalls;
  /** Wall time in Unix ms. */
  readonly time: number;
}

/** Files written through a memory map, which no system call shows; lmdb makes their content anew. */
const unseenFiles = ['/data/lock.mdb'];
const stringBytesMax = 1 << 26;
const tailBytes = 4096;

export class Recorder {
  readonly departures = new Departures();
  /** Numbers of the events at which a sync, or a synchronous write, had returned. */
  readonly syncs: number[] = [];
  readonly #directory: string;
  readonly #lives: Life[] = [];
  #disk: SimulatedDisk;
  #calls: SystemCalls;
  #gateway: GatewayProcess | undefined;

  constructor(
    directory: string,
    readonly chance: Chance,
    readonly verdict: Verdict,
  ) {
    this.#directory = directory;
    mkdirSync(this.#top, { recursive: true });
    this.#disk = new SimulatedDisk(this.#top);
    this.#calls = new SystemCalls(this.#disk);
  }

  get dataDir(): string {
    return join(this.#top, 'data');
  }

  get #top(): string {
    return join(this.#directory, 'node');
  }

  /** The number of the last event. */
  get end(): number {
    return this.#calls.now;
  }

  async start(config: object): Promise<GatewayProcess> {
    const under = ['strace', '-D', '-f', '-y', '-ttt', '--seccomp-bpf', '-s', `${stringBytesMax}`];
    const calls = ['-e', `trace=${tracedCalls.join()}`];
    this.#gateway = await startGateway({
      dataDir: this.dataDir,
      config,
      under: [...under, ...calls, '-o', this.#traceFile],
    });
    return this.#gateway;
  }

  /** @param leaves undefined: the power stays on. */
  async kill(leaves?: FateName): Promise<void> {
    await this.#gateway?.kill();
    await this.#read(leaves);
  }

  async stop(): Promise<void> {
    await this.#gateway?.stop();
    await this.#read();
  }

  /** Replays every moment in order, beginning with an empty disk. */
  *replay(): Generator<Moment> {
    let disk = new SimulatedDisk(this.#top);
    let calls = new SystemCalls(disk);
    for (const { events, outcomes, leftBehind } of this.#lives) {
      let time = 0;
      for (const event of events) {
        calls.take(event);
        ({ time } = event);
        yield { disk, calls, time };
      }
      const left = [...outcomes];
      calls.end(() => left.shift() === true);
      // The writes that the kernel finished for the process that was killed.
      yield { disk, calls, time };
      if (leftBehind === undefined) continue;
      disk = new SimulatedDisk(this.#top);
      disk.load(leftBehind);
      calls = new SystemCalls(disk, calls.now);
    }
  }

  get #traceFile(): string {
    return join(this.#directory, `life-${this.#lives.length}.trace`);
  }

  async #read(leaves?: FateName): Promise<void> {
    await eventually(() => hasEnded(this.#traceFile, this.#gateway?.process.pid ?? 0));
    const events = [...readTrace(this.#traceFile)];
    for (const event of events) {
      const sent = this.#calls.take(event);
      if (sent !== undefined) this.departures.take(sent);
      if (this.#calls.syncedAt === this.#calls.now) this.syncs.push(this.#calls.now);
    }
    const outcomes: boolean[] = [];
    const sent = this.#calls.end((write) => {
      outcomes.push(this.#isThere(write));
      return outcomes.at(-1) === true;
    });
    for (const each of sent) this.departures.take(each);
    this.#compare();
    this.#lives.push({ events, outcomes, leftBehind: this.#cutPower(leaves) });
  }

  /** Checks that the files on disk hold what the recorded calls wrote. */
  #compare(): void {
    for (const [path, file] of this.#disk.files()) {
      if (unseenFiles.includes(path)) continue;
      const isSame = readFileSync(this.#top + path).equals(file.seen.read(0, file.seen.size));
      this.verdict.hold('the recording holds every byte', isSame, () => path);
    }
  }

  #isThere({ file, offset, bytes }: WriteUnderWay): boolean {
    const path = pathOf(this.#disk, file);
    if (path === undefined) return false;
    return readFileSync(this.#top + path)
      .subarray(offset, offset + bytes.length)
      .equals(bytes);
  }

  /** Replaces the data directory by what the power cut leaves. @returns the directory with a copy of that. */
  #cutPower(leaves: FateName | undefined): string | undefined {
    if (leaves === undefined) return undefined;
    const leftBehind = join(this.#directory, `left-by-${this.#lives.length}`);
    leaveDirectory(leftBehind, this.#disk, this.#calls, leaves, this.chance);
    rmSync(this.dataDir, { recursive: true, force: true });
    cpSync(leftBehind, this.#top, { recursive: true });
    this.#disk = new SimulatedDisk(this.#top);
    this.#disk.load(leftBehind);
    this.#calls = new SystemCalls(this.#disk, this.#calls.now);
    return leftBehind;
  }
}

function pathOf(disk: SimulatedDisk, file: SimulatedFile): string | undefined {
  for (const [path, each] of disk.files()) if (each === file) return path;
  return undefined;
}

/** strace writes the process's end last, after all its calls. */
function hasEnded(path: string, pid: number): boolean {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const tail = Buffer.alloc(Math.min(size, tailBytes));
    readSync(file, tail, 0, tail.length, size - tail.length);
    return new RegExp(`^${pid} .* \\+\\+\\+ (?:exited|killed) `, 'm').test(tail.toString('latin1'));
  } finally {
    closeSync(file);
  }
}
