/** The Mono of this machine, and what it compiles: programs on the plugin base for .NET. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { missing } from '../support/installed.js';
import { root } from './python.js';

const base = `${root}src/sdk/csharp/SignalboxPlugin.cs`;

export const programs = {
  paper: `${root}src/sdk/csharp/examples/PaperTerminal.cs`,
  ledger: `${root}test/sdk/csharp/LedgerTerminal.cs`,
  busy: `${root}test/sdk/csharp/BusyJournal.cs`,
  blocked: `${root}test/sdk/csharp/BlockedJournal.cs`,
  bounds: `${root}test/sdk/csharp/FrameBounds.cs`,
  faults: `${root}test/sdk/csharp/FrameFaults.cs`,
  damaged: `${root}test/sdk/csharp/DamagedJournal.cs`,
  kept: `${root}test/sdk/csharp/KeptJournal.cs`,
} as const;

/** For a test's `skip`. */
export const noMono = missing('mcs', ['--version']) || missing('mono', ['--version']);

/** Compiles as NinjaTrader 8 does, C# 5; a warning is an error. @returns the command that runs the program. */
export function compile(directory: string, name: keyof typeof programs): readonly string[] {
  const out = join(directory, `${name}.exe`);
  const flags = ['-langversion:5', '-warn:4', '-warnaserror', `-out:${out}`];
  execFileSync('mcs', [...flags, base, programs[name]], { stdio: 'inherit' });
  return ['mono', out];
}
