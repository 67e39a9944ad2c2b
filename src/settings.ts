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
    findings.length === 0 ||
    (needed === 'data directory' && isPlaceCertain(values.dataDir, sources, file, findings));
  const mistakes = findings.map(({ message }) => message);
  return isUsable ? deepFreeze({ ...values, ...sections, mistakes }) : findings;
}

/**
 * Whether the data directory is known in spite of the mistakes. It is not if its own value is wrong, nor if it may
 * come from a file that cannot be read, or have been meant by an unknown name: a variable, which would override the
 * file, or a name in a file that does not have it.
 */
function isPlaceCertain(
  dataDir: string | undefined,
  { flags, environment }: SettingsSources,
  { root }: ConfigFile,
  findings: readonly SettingsError[],
): boolean {
  if (dataDir === undefined) return false;
  const isOutsideFile =
    flags['dataDir'] !== undefined || environment[settingsTable.dataDir.environment] !== undefined;
  if (isOutsideFile) return true;
  const isInFile = Object.hasOwn(root, 'dataDir');
  return findings.every(
    ({ setting }) =>
      setting !== 'dataDir' &&
      (isOfKnownName(setting) || (isInFile && !setting.startsWith(environmentPrefix))),
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
      givenFor(name, settingsTable[name], sources, file)[0]?.origin ?? 'default',
    ]),
  ) as Record<SettingName, string>;
}

/**
 * Judges the value of each source, also those that a stronger one overrides.
 * @returns that of the strongest; undefined if it is wrong.
 */
function readSetting(
  name: string,
  row: SettingRow,
  sources: SettingsSources,
  file: ConfigFile,
  report: Report,
): unknown {
  const { kind, secret, fallback } = row;
  const values = givenFor(name, row, sources, file).map(({ raw, origin, isText }) => {
    const value = kind.read(raw, isText);
    if (value === undefined) {
      const finding = secret ? `"${name}" cannot be used` : `"${name}" is ${shownValue(raw)}`;
      report(name, `${finding} (${origin}); it must be ${kind.expected}.`);
    }
    return value;
  });
  return values.length > 0 ? values[0] : fallback;
}

interface Given {
  readonly raw: unknown;
  readonly origin: string;
  readonly isText: boolean;
}

/** Strongest first. */
function givenFor(
  name: string,
  { flag, environment: variable, inFile }: SettingRow,
  { flags, environment }: SettingsSources,
  { root, path }: ConfigFile,
): Given[] {
  const given: Given[] = [
    { raw: flag === null ? undefined : flags[name], origin: `flag ${flag}`, isText: true },
    { raw: environment[variable], origin: `environment variable ${variable}`, isText: true },
  ];
  if (inFile && Object.hasOwn(root, name)) {
    given.push({ raw: root[name], origin: `config file ${path}`, isText: false });
  }
  return given.filter(({ raw }) => raw !== undefined);
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
