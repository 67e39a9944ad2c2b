/**
 * Loads the settings: each from the source with the highest precedence (flag, environment, config file,
 * default), validated, and frozen for the life of the process. All errors are returned at once, so that an
 * operator does not need five starts to find five mistakes.
 */
import type { Limits } from './limits.js';
import type { Plans } from './plans.js';
import type { Platform } from './platforms.js';
import {
  readConfigFile,
  shownValue,
  topLevelKeys,
  type ConfigFile,
  type Report,
} from './settings/config-file.js';
import { readLimits, readPlans, readPlatforms } from './settings/sections.js';
import {
  configFile,
  knownEnvironment,
  type SettingName,
  type SettingRow,
  settingNames,
  settingsTable,
  type SettingValues,
} from './settings/table.js';
import { checkTlsPair } from './settings/tls-pair.js';

export type { LogLevel } from './settings/table.js';

export interface Settings extends SettingValues {
  readonly limits: Limits;
  readonly plans: Plans;
  readonly platforms: readonly Platform[];
  /** What is wrong with them, in sentences: empty, unless no more than the data directory was asked for. */
  readonly mistakes: readonly string[];
}

export interface SettingsError {
  /** `port`, `limits.ttlMsMax`, `SIGNALBOX_FOO`. */
  readonly setting: string;
  /** A sentence with the setting, its value, its bounds and the source of the value. */
  readonly message: string;
}

export interface SettingsSources {
  /** By the setting's name; `config` is the path of the config file. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Throws when the file cannot be read. */
  readonly readFile: (path: string) => string;
  /**
   * Unless it is `all`, mistakes in the rest are no error: what an operator prepares for the next start must not keep
   * a halt from the gateway that runs.
   */
  readonly needed?: Needed;
}

/** `values` are all but the certificate. */
export type Needed = 'all' | 'values' | 'data directory';

const environmentPrefix = 'SIGNALBOX_';

export function loadSettings(sources: SettingsSources): Settings | SettingsError[] {
  const findings: SettingsError[] = [];
  const report: Report = (setting, message) => void findings.push({ setting, message });

  reportUnknownEnvironment(sources.environment, report);
  const file = configFileOf(sources, report);
  const values = Object.fromEntries(
    settingNames.map((name) => [
      name,
      readSetting(name, settingsTable[name], sources, file, report),
    ]),
  ) as unknown as SettingValues;
  const { needed = 'all' } = sources;
  if (needed === 'all') checkTlsPair(values.tlsCert, values.tlsKey, sources.readFile, report);
  const sections = {
    limits: readLimits(file, report),
    plans: readPlans(file, report),
    platforms: readPlatforms(file, report),
  };
  const isUsable =
    findings.length === 0 || (needed === 'data directory' && isPlaceCertain(sources, findings));
  const mistakes = findings.map(({ message }) => message);
  return isUsable ? deepFreeze({ ...values, ...sections, mistakes }) : findings;
}

/**
 * Whether the data directory is known in spite of the mistakes. It is not if its own value is wrong, nor if it comes
 * from a file that cannot be read, or is the default beside a name that may be a misspelt `dataDir`.
 */
function isPlaceCertain(sources: SettingsSources, findings: readonly SettingsError[]): boolean {
  const isOutsideFile =
    sources.flags['dataDir'] !== undefined ||
    sources.environment[settingsTable.dataDir.environment] !== undefined;
  return findings.every(
    ({ setting }) => setting !== 'dataDir' && (isOutsideFile || isOfKnownName(setting)),
  );
}

/** Of a setting, or within a section of the config file. */
function isOfKnownName(setting: string): boolean {
  const [, top = ''] = /^([^.[]*)/.exec(setting) ?? [];
  return topLevelKeys.includes(top);
}

/** @returns the source of each setting's value as text: `flag --port`, `default`. */
export function settingOrigins(sources: SettingsSources): Record<SettingName, string> {
  const file = configFileOf(sources, () => undefined);
  return Object.fromEntries(
    settingNames.map((name) => [
      name,
      effectiveSource(name, settingsTable[name], sources, file).origin,
    ]),
  ) as Record<SettingName, string>;
}

function readSetting(
  name: string,
  row: SettingRow,
  sources: SettingsSources,
  file: ConfigFile,
  report: Report,
): unknown {
  const { kind, secret } = row;
  const { raw, origin, isText } = effectiveSource(name, row, sources, file);
  if (origin === fromDefault) return raw;
  const value = kind.read(raw, isText);
  if (value === undefined) {
    const finding = secret ? `"${name}" cannot be used` : `"${name}" is ${shownValue(raw)}`;
    report(name, `${finding} (${origin}); it must be ${kind.expected}.`);
  }
  return value;
}

const fromDefault = 'default';

function effectiveSource(
  name: string,
  row: SettingRow,
  { flags, environment }: SettingsSources,
  file: ConfigFile,
): { raw: unknown; origin: string; isText: boolean } {
  const flag = row.flag === null ? undefined : flags[name];
  if (flag !== undefined) return { raw: flag, origin: `flag ${row.flag}`, isText: true };
  const variable = environment[row.environment];
  if (variable !== undefined) {
    return { raw: variable, origin: `environment variable ${row.environment}`, isText: true };
  }
  if (row.inFile && Object.hasOwn(file.root, name)) {
    return { raw: file.root[name], origin: `config file ${file.path}`, isText: false };
  }
  return { raw: row.fallback, origin: fromDefault, isText: false };
}

const noConfigFile: ConfigFile = { path: '', root: {} };

function configFileOf(sources: SettingsSources, report: Report): ConfigFile {
  const path = readSetting('config', configFile, sources, noConfigFile, report);
  return typeof path === 'string' ? readConfigFile(path, sources.readFile, report) : noConfigFile;
}

/** Reports unknown variables: a misspelt one would silently leave the default in force. */
function reportUnknownEnvironment(
  environment: SettingsSources['environment'],
  report: Report,
): void {
  for (const name of Object.keys(environment)) {
    if (!name.startsWith(environmentPrefix) || knownEnvironment.has(name)) continue;
    const known = [...knownEnvironment].join(', ');
    report(name, `There is no environment variable "${name}". Known are ${known}.`);
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}
