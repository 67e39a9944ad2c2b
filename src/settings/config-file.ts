/**
 * Reads the config file: JSON with settings at its top level, and the sections `limits`, `plans` and
 * `platforms`, which `sections` reads. Unknown keys are errors, because a misspelt limit would silently not
 * apply, and so are repeated keys, because only one of them would.
 */
import { errorText } from '../lib/error-text.js';
import { foreignText } from '../lib/foreign-text.js';
import { isObject } from '../lib/is-object.js';
import { repeatedMembers } from '../lib/json-members.js';
import { settingNames, settingsTable } from './table.js';

/** Reports one error: the setting's name, and a sentence for the operator. */
export type Report = (setting: string, message: string) => void;

export interface ConfigFile {
  readonly path: string;
  /** The parsed object; empty without a file or when it cannot be read. */
  readonly root: Readonly<Record<string, unknown>>;
}

const sections = ['limits', 'plans', 'platforms'];
/** What the top level of the file may have. */
export const topLevelKeys: readonly string[] = [
  ...settingNames.filter((name) => settingsTable[name].inFile),
  ...sections,
];

const unreadable = {
  ENOENT: 'does not exist.',
  EACCES:
    'cannot be read by this user. Let the group of the gateway’s user read it: mode 640, and 750 for a directory of its own.',
} as const;

export function readConfigFile(
  path: string,
  readFile: (path: string) => string,
  report: Report,
): ConfigFile {
  let parsed: unknown;
  let text: string;
  try {
    text = readFile(path);
    if (foreignText.test(text)) {
      report(
        'config',
        `The config file ${path} must be UTF-8 without a byte order mark. Save it in that encoding.`,
      );
      return { path, root: {} };
    }
    parsed = JSON.parse(text);
  } catch (error) {
    const reason = errorText(error);
    const { code } = error as NodeJS.ErrnoException;
    const said = Object.hasOwn(unreadable, code ?? '')
      ? unreadable[code as keyof typeof unreadable]
      : `cannot be read as JSON: ${reason}.`;
    report('config', `The config file ${path} ${said}`);
    return { path, root: {} };
  }
  if (!isObject(parsed)) {
    report('config', `The config file ${path} must hold a JSON object.`);
    return { path, root: {} };
  }
  for (const name of repeatedMembers(text)) {
    report(name, `"${name}" is given more than once (config file ${path}). Keep one of them.`);
  }
  reportUnknownKeys(parsed, topLevelKeys, '', path, report);
  return { path, root: parsed };
}

/** @returns the object of this section; empty when it is absent or invalid. */
export function sectionOf(file: ConfigFile, name: string, report: Report): Record<string, unknown> {
  if (!Object.hasOwn(file.root, name)) return {};
  const value = file.root[name];
  if (isObject(value)) return value;
  reportValue(name, value, 'an object', file.path, report);
  return {};
}

export function reportUnknownKeys(
  object: Record<string, unknown>,
  known: readonly string[],
  prefix: string,
  path: string,
  report: Report,
): void {
  for (const key of Object.keys(object)) {
    if (known.includes(key)) continue;
    const name = `${prefix}${key}`;
    report(
      name,
      `There is no setting "${name}" (config file ${path}). Known here are ${known.join(', ')}.`,
    );
  }
}

export function reportValue(
  name: string,
  value: unknown,
  expected: string,
  path: string,
  report: Report,
): void {
  report(name, `"${name}" is ${shownValue(value)} (config file ${path}); it must be ${expected}.`);
}

/** A value of the file, to stand after "is". */
export function shownValue(value: unknown): string {
  if (value === undefined) return 'missing';
  // JSON.parse reads 1e400 as Infinity, which has no form in JSON.
  return value === Infinity || value === -Infinity ? 'a number too large' : JSON.stringify(value);
}
