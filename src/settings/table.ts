/**
 * Defines the settings, one row each: flag, environment variable, config file key, default and type. Used by
 * the loader and the command line's help.
 */
import { isIP } from 'node:net';
import { isCidr } from '../lib/cidr.js';
import { jwtSecretLengthMin } from '../store/jwt-secret.js';

/** The type of a setting: its parser, and the text of the error message. */
export interface Kind<T> {
  readonly expected: string;
  /**
   * @param isText whether `raw` comes from a flag or the environment, where every value is a string.
   * @returns undefined when `raw` is invalid.
   */
  readonly read: (raw: unknown, isText: boolean) => T | undefined;
}

export interface SettingRow {
  readonly flag: string | null;
  readonly environment: string;
  /** Whether the config file may contain it, under the setting's name. */
  readonly inFile: boolean;
  readonly fallback: unknown;
  readonly kind: Kind<unknown>;
  /** Placeholder of the value in the help. */
  readonly placeholder: string;
  readonly secret: boolean;
  readonly description: string;
}

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

const portMax = 65_535;

const path: Kind<string> = {
  expected: 'a path',
  read: (raw) => (isFilled(raw) && !raw.includes('\0') ? raw : undefined),
};

const host: Kind<string> = {
  expected: 'an IP address or a host name',
  read: (raw) => {
    if (!isFilled(raw)) return undefined;
    return isIP(raw) !== 0 || /^[A-Za-z0-9_][A-Za-z0-9._-]*$/.test(raw) ? raw : undefined;
  },
};

const port: Kind<number> = {
  expected: `a whole number from 0 to ${portMax}, where 0 takes any free port`,
  read: (raw, isText) => {
    const value = isText && /^[0-9]{1,5}$/.test(String(raw)) ? Number(raw) : raw;
    return isWholeNumber(value, 0, portMax) ? value : undefined;
  },
};

const cidrList: Kind<readonly string[]> = {
  expected: 'a comma-separated list of IP addresses or CIDR ranges, such as "10.0.0.0/8,fd00::/8"',
  read: (raw, isText) => {
    const parts = typeof raw === 'string' ? splitList(raw) : isText ? undefined : raw;
    return Array.isArray(parts) && parts.every(isCidr) ? parts : undefined;
  },
};

const logLevel: Kind<LogLevel> = {
  expected: `one of ${logLevels.join(', ')}`,
  read: (raw) => logLevels.find((level) => level === raw),
};

const secret: Kind<string> = {
  expected: `at least ${jwtSecretLengthMin} characters`,
  read: (raw) => (isFilled(raw) && raw.length >= jwtSecretLengthMin ? raw : undefined),
};

// oxfmt-ignore
export const settingsTable = {
  dataDir: { flag: '--data-dir', environment: 'SIGNALBOX_DATA_DIR', inFile: true, fallback: './data', kind: path, placeholder: 'DIRECTORY', secret: false, description: 'directory of the persistent data' },
  host: { flag: '--host', environment: 'SIGNALBOX_HOST', inFile: true, fallback: '127.0.0.1', kind: host, placeholder: 'ADDRESS', secret: false, description: 'address that bots and terminal plugins connect to' },
  port: { flag: '--port', environment: 'SIGNALBOX_PORT', inFile: true, fallback: 8080, kind: port, placeholder: 'PORT', secret: false, description: 'port that bots and terminal plugins connect to; 0 takes any free port' },
  opsHost: { flag: '--ops-host', environment: 'SIGNALBOX_OPS_HOST', inFile: true, fallback: '127.0.0.1', kind: host, placeholder: 'ADDRESS', secret: false, description: 'address of the health checks and metrics' },
  opsPort: { flag: '--ops-port', environment: 'SIGNALBOX_OPS_PORT', inFile: true, fallback: 9464, kind: port, placeholder: 'PORT', secret: false, description: 'port of the health checks and metrics; 0 takes any free port' },
  tlsCert: { flag: '--tls-cert', environment: 'SIGNALBOX_TLS_CERT', inFile: true, fallback: undefined, kind: path, placeholder: 'FILE', secret: false, description: 'certificate chain as PEM; without it the gateway serves plain HTTP' },
  tlsKey: { flag: '--tls-key', environment: 'SIGNALBOX_TLS_KEY', inFile: true, fallback: undefined, kind: path, placeholder: 'FILE', secret: false, description: 'private key of the certificate as PEM' },
  trustProxy: { flag: '--trust-proxy', environment: 'SIGNALBOX_TRUST_PROXY', inFile: true, fallback: [] as readonly string[], kind: cidrList, placeholder: 'CIDRS', secret: false, description: 'trusted proxies, which may set the client address; separated by commas' },
  logLevel: { flag: '--log-level', environment: 'SIGNALBOX_LOG_LEVEL', inFile: true, fallback: 'info', kind: logLevel, placeholder: 'LEVEL', secret: false, description: `lowest level that is logged: ${logLevels.join(', ')}` },
  jwtSecret: { flag: null, environment: 'SIGNALBOX_JWT_SECRET', inFile: false, fallback: undefined, kind: secret, placeholder: 'SECRET', secret: true, description: 'secret that signs user tokens; without it, one is generated and stored in the data directory' },
} as const satisfies Record<string, SettingRow>;

export type SettingName = keyof typeof settingsTable;
export const settingNames = Object.keys(settingsTable) as SettingName[];
/** The settings of `serve`, and of the commands that look at what it would do. */
export const flaggedSettings = settingNames.filter((name) => settingsTable[name].flag !== null);

type ValueOf<N extends SettingName> =
  (typeof settingsTable)[N]['kind'] extends Kind<infer T>
    ? undefined extends (typeof settingsTable)[N]['fallback']
      ? T | undefined
      : T
    : never;
export type SettingValues = { readonly [N in SettingName]: ValueOf<N> };

/** The path of the config file, the only setting besides secrets that the file cannot contain. */
export const configFile = {
  flag: '--config',
  environment: 'SIGNALBOX_CONFIG',
  inFile: false,
  fallback: undefined,
  kind: path,
  placeholder: 'FILE',
  secret: false,
  description: 'config file (JSON) with settings, limits, plans and platforms',
} as const satisfies SettingRow;

/** Read by `terminal`, `fix` and `conformance`; the other commands pass over them. */
const credentialEnvironment = [
  'SIGNALBOX_PASSWORD',
  'SIGNALBOX_SESSION_TOKEN',
  'SIGNALBOX_FIX_PASSWORD',
] as const;

/** The known environment variables with the prefix SIGNALBOX_; any other is an error. */
export const knownEnvironment: ReadonlySet<string> = new Set<string>([
  ...settingNames.map((name) => settingsTable[name].environment),
  configFile.environment,
  ...credentialEnvironment,
]);

export function isWholeNumber(value: unknown, min: number, max: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
}

function isFilled(raw: unknown): raw is string {
  return typeof raw === 'string' && raw.trim() !== '';
}

/** `''` is the empty list, so that an environment variable can override the config file's list. */
function splitList(text: string): string[] {
  return text.trim() === '' ? [] : text.split(',').map((part) => part.trim());
}
