/**
 * What all commands share: the way a command is described, the options that each has, and how its
 * outcome becomes text, JSON and an exit code. Standard output carries the outcome alone; what went
 * wrong goes to standard error.
 */
import { readFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import { printable } from '../lib/printable.js';
import { loadSettings, type Needed, type Settings, type SettingsSources } from '../settings.js';
import { configFile, type SettingName, settingsTable } from '../settings/table.js';
import type { Io } from './io.js';

/** 0 done; 1 refused, not found or failed; 2 a mistake in the usage or the settings. */
export const exitCodes = { done: 0, refused: 1, usage: 2 } as const;

export type Outcome =
  | {
      readonly ok: true;
      readonly json: unknown;
      /** The same for people. */
      readonly text: string;
      /** What the operator is told if nobody reads the outcome, which cannot be had again. */
      readonly ifUnread?: string;
    }
  | Failed;

export interface Failed {
  readonly ok: false;
  readonly exitCode: 1 | 2;
  /** For programs. */
  readonly code: string;
  /** Complete sentences, the last of which is the remedy. */
  readonly message: string;
}

/** The options as commander gives them, by the setting's name. */
export interface SharedOptions {
  readonly json?: boolean;
  readonly config?: string;
  readonly dataDir?: string;
}

export interface Description {
  /** The command's own word, and its arguments as commander writes them. */
  readonly usage: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** What it does and what follows from it, in sentences. */
  readonly description: string;
  readonly examples: readonly string[];
  /** The settings it takes as flags. */
  readonly settings?: readonly SettingName[];
  /** Defaults of this command where only its flag changes them, in words. */
  readonly defaults?: Partial<Readonly<Record<SettingName, string>>>;
}

export function describeCommand(description: Description): Command {
  const { usage, summary, examples, settings = ['dataDir'], defaults = {} } = description;
  const [name = '', ...parameters] = usage.split(' ');
  const command = new Command(name).summary(summary).description(description.description);
  for (const parameter of parameters) command.argument(parameter);
  for (const setting of settings) command.addOption(settingOption(setting, defaults[setting]));
  command.option(
    `${configFile.flag} <${configFile.placeholder}>`,
    `${configFile.description} (environment: ${configFile.environment})`,
  );
  command.option('--json', 'print JSON for programs instead of text');
  return command.addHelpText('after', examplesText(examples));
}

export function examplesText(examples: readonly string[]): string {
  return `\nExamples:\n${examples.map((example) => `  $ ${example}`).join('\n')}`;
}

function settingOption(name: SettingName, ownDefault: string | undefined): Option {
  const { flag, environment, placeholder, description, fallback } = settingsTable[name];
  const usual = Array.isArray(fallback) || fallback === undefined ? 'none' : String(fallback);
  const source =
    ownDefault === undefined
      ? `environment: ${environment}; default: ${usual}`
      : `default: ${ownDefault}`;
  return new Option(`${String(flag)} <${placeholder}>`, `${description} (${source})`);
}

export function sourcesOf(io: Io, options: object): SettingsSources {
  const flags = Object.fromEntries(
    Object.entries(options).filter(([, value]) => typeof value === 'string'),
  ) as Record<string, string>;
  return { flags, environment: io.env, readFile: (path) => readFileSync(path, 'utf8') };
}

const inDoubt =
  'A gateway that runs carries the command out all the same if --data-dir or SIGNALBOX_DATA_DIR names its data directory.';

/** @returns undefined after having told the operator what is wrong with them. */
export function settingsFor(
  io: Io,
  options: SharedOptions,
  needed: Needed = 'all',
): Settings | undefined {
  const settings = loadSettings({ ...sourcesOf(io, options), needed });
  if (!Array.isArray(settings)) return settings;
  const found = settings.map((finding) => finding.message);
  const message = [...found, ...(needed === 'data directory' ? [inDoubt] : [])].join('\n');
  finish(io, misused(message, 'invalid_settings'), options);
  return undefined;
}

/**
 * The action of a command that needs the settings: `work` makes the outcome of its arguments and options.
 * @param needed must be right. A running gateway carries most commands out with settings of its own.
 */
export function withSettings<Given extends unknown[]>(
  io: Io,
  work: (settings: Settings, ...given: Given) => Outcome | Promise<Outcome>,
  needed: Needed = 'data directory',
): (...given: [...Given, ...unknown[]]) => Promise<void> {
  return async (...given) => {
    // commander passes the arguments, then the options, then the command itself.
    const options = given.at(-2) as SharedOptions;
    const settings = settingsFor(io, options, needed);
    if (settings === undefined) return;
    finish(io, await work(settings, ...(given as unknown as Given)), options);
  };
}

/** Prints the outcome and sets the exit code. */
export function finish(io: Io, outcome: Outcome, { json }: SharedOptions): void {
  if (outcome.ok) {
    const text = json ? JSON.stringify(outcome.json, null, 2) : outcome.text;
    io.stdout(`${text}\n`, outcome.ifUnread);
    return;
  }
  fail(io, outcome, { json }, 2);
}

/** `indent`: of the JSON. 0 is one line, for a command that prints JSON lines. */
export function fail(
  io: Io,
  { code, message, exitCode }: Failed,
  { json }: { readonly json?: boolean | undefined },
  indent = 0,
): void {
  if (json) io.stdout(errorJson(code, message, indent));
  // Some messages tell what a file holds that somebody else has written.
  io.stderr(`${message.split('\n').map(printable).join('\n')}\n`);
  io.exitCode(exitCode);
}

/** @returns prints what the command's outcome leaves out. */
export function warnTo(io: Io): (warning: string) => void {
  return (warning) => io.stderr(`${warning}\n`);
}

export function errorJson(code: string, message: string, indent = 2): string {
  return `${JSON.stringify({ error: { code, message } }, null, indent)}\n`;
}

export function refused(code: string, message: string): Failed {
  return { ok: false, exitCode: exitCodes.refused, code, message };
}

export function misused(message: string, code = 'usage'): Failed {
  return { ok: false, exitCode: exitCodes.usage, code, message };
}
