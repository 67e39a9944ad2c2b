/**
 * QuickFIX as the venue: its examples `executor`, which fills limit orders by FIX 4.4, and `ordermatch`, an order
 * book by FIX 4.2, with its data dictionaries on, so that it validates each message of the terminal. `.ci/run` puts
 * programs and dictionaries where this file looks for them.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { dayMs } from '../../src/lib/durations.js';
import { freePort } from '../support/free-port.js';
import { missing } from '../support/installed.js';
import { eventually } from '../support/eventually.js';

const folder = join(homedir(), '.cache/signalbox-fix');

export type QuickFixProgram = 'executor' | 'ordermatch';

const versions = { executor: 'FIX.4.4', ordermatch: 'FIX.4.2' } as const;

/** Paths of the data dictionaries. */
export const dictionaries: Readonly<Record<QuickFixProgram, string>> = {
  executor: join(folder, 'FIX44.xml'),
  ordermatch: join(folder, 'FIX42.xml'),
};

/** @returns why a subtest must be skipped; false if the dictionary is there. */
export function missingDictionary(program: QuickFixProgram): string | false {
  const dictionary = dictionaries[program];
  return !existsSync(dictionary) && `${dictionary} is not there: .ci/run fetches it`;
}

/** @returns why a subtest must be skipped; false if the program is there. */
export function missingQuickFix(program: QuickFixProgram): string | false {
  // The program prints its usage without a file.
  return missingDictionary(program) || missing(join(folder, program), []);
}

export interface QuickFix {
  readonly port: number;
  readonly beginString: string;
  /** Messages of the terminal as QuickFIX has logged them, with `|` for the delimiter. */
  incoming(): string[];
  outgoing(): string[];
  /** All output of the program. */
  log(): string;
  start(): Promise<void>;
  /** Sends SIGKILL; the store stays. */
  kill(): Promise<void>;
}

/**
 * @param directory where QuickFIX keeps its store.
 * @param traders CompIDs that may log on.
 */
export async function startQuickFix(
  t: Test,
  program: QuickFixProgram,
  directory: string,
  traders: readonly string[] = ['TRADER'],
): Promise<QuickFix> {
  const port = await freePort();
  const config = join(directory, 'quickfix.cfg');
  // A session begins with new numbers at this time of day: not during the test.
  const sessionTime = new Date(Date.now() + dayMs / 2).toISOString().slice(11, 19);
  mkdirSync(join(directory, 'store'));
  const venue = {
    ConnectionType: 'acceptor',
    SocketAcceptPort: port,
    SocketReuseAddress: 'Y',
    FileStorePath: join(directory, 'store'),
    StartTime: sessionTime,
    EndTime: sessionTime,
    UseDataDictionary: 'Y',
    DataDictionary: dictionaries[program],
    BeginString: versions[program],
    SenderCompID: 'VENUE',
  };
  const lines = Object.entries(venue).map(([name, value]) => `${name}=${value}`);
  const sessions = traders.map((trader) => `[SESSION]\nTargetCompID=${trader}\n`);
  writeFileSync(config, ['[DEFAULT]', ...lines, ...sessions].join('\n'));
  let log = '';
  let end: () => Promise<void> = () => Promise.resolve();
  t.teardown(() => end());

  async function start(): Promise<void> {
    // ordermatch reads commands, and ends when there are none.
    const child = spawn(join(folder, program), [config], { stdio: ['pipe', 'pipe', 'pipe'] });
    const ended = once(child, 'close');
    const before = log.length;
    child.stdout.on('data', (data: Buffer) => (log += data.toString().replaceAll('\x01', '|')));
    end = async () => {
      child.kill('SIGKILL');
      await ended;
    };
    await eventually(() => {
      if (child.exitCode !== null) throw new Error(log.slice(before));
      return log.slice(before).includes('Created session');
    });
  }

  const messages = (way: string): string[] =>
    [...log.matchAll(new RegExp(`, ${way}>\\s*\\((8=[^\\n]*)\\)`, 'g'))].map(
      ([, message]) => message as string,
    );

  await start();
  return {
    port,
    beginString: versions[program],
    incoming: () => messages('incoming'),
    outgoing: () => messages('outgoing'),
    log: () => log,
    start,
    kill: () => end(),
  };
}

export function fieldOf(message: string, tag: number): string | undefined {
  return new RegExp(`\\|${tag}=([^|]*)\\|`).exec(message)?.[1];
}
