import t from 'tap';
import { limitNames, limits as limitTable, type LimitName } from '../src/limits.js';
import {
  loadSettings,
  type Needed,
  settingOrigins,
  type Settings,
  type SettingsError,
} from '../src/settings.js';
import { shippedLimits } from './support/shipped-limits.js';
import { knownEnvironment, settingNames, settingsTable } from '../src/settings/table.js';

/** Section 1 of the contract, as it stands there. */
const contractTable = `
| \`--data-dir\` | \`SIGNALBOX_DATA_DIR\` | \`./data\` |
| \`--host\`, \`--port\` | \`SIGNALBOX_HOST\`, \`SIGNALBOX_PORT\` | \`127.0.0.1\`, \`8080\` (0 = any free port) |
| \`--ops-host\`, \`--ops-port\` | \`SIGNALBOX_OPS_HOST\`, \`SIGNALBOX_OPS_PORT\` | \`127.0.0.1\`, \`9464\` (0 = any free port) |
| \`--tls-cert\`, \`--tls-key\` | \`SIGNALBOX_TLS_CERT\`, \`SIGNALBOX_TLS_KEY\` | none: plain HTTP |
| \`--trust-proxy\` | \`SIGNALBOX_TRUST_PROXY\` | none; a comma-separated CIDR list |
| \`--log-level\` | \`SIGNALBOX_LOG_LEVEL\` | \`info\` |
| | \`SIGNALBOX_JWT_SECRET\` | made at first start, kept in the data directory |
`;

/** Held against the contract in limits.test. */
const contractLimits = shippedLimits();

interface Given {
  readonly flags?: Record<string, string>;
  readonly environment?: Record<string, string>;
  /** The config file's content: a value, or a text as it stands in the file. */
  readonly file?: unknown;
}

const configPath = '/etc/signalbox.json';

function load(
  { flags = {}, environment = {}, file }: Given,
  needed?: Needed,
): Settings | SettingsError[] {
  return loadSettings({
    ...(needed === undefined ? {} : { needed }),
    flags: file === undefined ? flags : { ...flags, config: configPath },
    environment,
    readFile: (path) => {
      if (path !== configPath) {
        const error = new Error(`ENOENT: no such file, open '${path}'`);
        throw Object.assign(error, { code: 'ENOENT' });
      }
      return typeof file === 'string' ? file : JSON.stringify(file);
    },
  });
}

function loaded(given: Given): Settings {
  const settings = load(given);
  if (Array.isArray(settings)) throw new Error(settings.map((e) => e.message).join('\n'));
  return settings;
}

function refusals(given: Given): SettingsError[] {
  const settings = load(given);
  return Array.isArray(settings) ? settings : [];
}

const sample = {
  dataDir: ['/var/lib/a', '/var/lib/b', '/var/lib/c'],
  host: ['::1', '0.0.0.0', 'localhost'],
  port: [1, 2, 65535],
  opsHost: ['::1', '0.0.0.0', 'node-1.example'],
  opsPort: [0, 2, 3],
  trustProxy: [['10.0.0.0/8', 'fd00::/8'], ['192.0.2.1'], []],
  logLevel: ['debug', 'warn', 'silent'],
} as const;

t.test('the settings are those of the contract, with its flags, variables and defaults', (t) => {
  const quoted = (cell: string): string[] =>
    [...cell.matchAll(/`([^`]+)`/g)].map((m) => m[1] ?? '');
  const rows = contractTable.trim().split('\n');
  const found = rows.flatMap((row) => {
    const [, flagCell = '', variableCell = '', defaultCell = ''] = row.split('|');
    const [flags, defaults] = [quoted(flagCell), quoted(defaultCell)];
    return quoted(variableCell).map((variable, i) => [
      variable,
      flags[i] ?? null,
      defaults[i] ?? 'none',
    ]);
  });
  const table = settingNames.map((name) => {
    const { environment, flag, fallback } = settingsTable[name];
    const usual = [fallback ?? []].flat().join(',');
    return [environment, flag, usual === '' ? 'none' : usual];
  });
  t.same(table, found);
  t.end();
});

t.test(
  'a flag is stronger than the environment, that than the file, that than the default',
  (t) => {
    for (const [name, [first, second, third]] of Object.entries(sample)) {
      const row = settingsTable[name as keyof typeof sample];
      const flags = { [name]: String(first) };
      const environment = { [row.environment]: String(second) };
      const file = { [name]: third };
      const valueOf = (given: Given): unknown => loaded(given)[name as keyof typeof sample];
      t.same(valueOf({ flags, environment, file }), first, `${name} by flag`);
      t.same(valueOf({ environment, file }), second, `${name} by environment`);
      t.same(valueOf({ file }), third, `${name} by file`);
      t.same(valueOf({}), row.fallback, `${name} by default`);
    }
    t.end();
  },
);

t.test('the config file is named by flag or environment, the flag first', (t) => {
  const files: Record<string, string> = { '/a.json': '{"port":1}', '/b.json': '{"port":2}' };
  const portOf = (flags: Record<string, string>): unknown => {
    const settings = loadSettings({
      flags,
      environment: { SIGNALBOX_CONFIG: '/b.json' },
      readFile: (path) => files[path] ?? '',
    });
    return Array.isArray(settings) ? settings : settings.port;
  };
  t.equal(portOf({ config: '/a.json' }), 1);
  t.equal(portOf({}), 2);
  t.end();
});

t.test('the origin of each setting can be told', (t) => {
  const origins = settingOrigins({
    flags: { port: '1', config: configPath },
    environment: { SIGNALBOX_HOST: '::1' },
    readFile: () => '{"logLevel":"warn"}',
  });
  t.equal(origins.port, 'flag --port');
  t.equal(origins.host, 'environment variable SIGNALBOX_HOST');
  t.equal(origins.logLevel, `config file ${configPath}`);
  t.equal(origins.dataDir, 'default');
  t.end();
});

t.test('the limits are those of the contract, and each can be changed by the config file', (t) => {
  t.same([...limitNames].sort(), Object.keys(contractLimits).sort());
  t.same(loaded({}).limits, contractLimits);
  for (const name of Object.keys(contractLimits) as LimitName[]) {
    const { min, max, value } = limitTable[name];
    for (const wanted of [min, max]) {
      if (wanted === value) continue;
      const { limits } = loaded({ file: { limits: { [name]: wanted } } });
      t.same(limits, { ...contractLimits, [name]: wanted }, `${name} ${wanted}`);
    }
  }
  t.end();
});

t.test('a limit beyond its bounds is refused by name, value, bounds and file', (t) => {
  for (const name of limitNames) {
    const { min, max } = limitTable[name];
    for (const wrong of [min - 1, max + 1, min + 0.5, `${min}`, null, true, [min]]) {
      const [refusal, ...others] = refusals({ file: { limits: { [name]: wrong } } });
      t.same(others, [], name);
      t.equal(refusal?.setting, `limits.${name}`);
      const message = refusal?.message ?? '';
      for (const part of [name, JSON.stringify(wrong), String(min), String(max), configPath]) {
        t.ok(message.includes(part), `"${message}" says ${part}`);
      }
    }
  }
  t.end();
});

t.test('limits that do not fit together are refused with both names and values', (t) => {
  const dayMs = 86_400_000;
  const fits = { executionRetentionDays: 2, idempotencyRetentionMs: 2 * dayMs };
  t.same(refusals({ file: { limits: fits } }), []);
  const [refusal] = refusals({
    file: { limits: { ...fits, idempotencyRetentionMs: 2 * dayMs + 1 } },
  });
  t.match(refusal?.message, /idempotencyRetentionMs is 172800001 .*executionRetentionDays is 2 /);
  t.end();
});

const business = { publicApi: true, signalsPerMinute: 6000, signalsPerDay: 1_000_000 };

t.test('every kind of bad value is refused with a sentence that names it', (t) => {
  // oxfmt-ignore
  const cases: [what: string, given: Given, setting: string, says: RegExp][] = [
    ['a port too high', { flags: { port: '65536' } }, 'port', /"65536" \(flag --port\); .*65535/],
    ['a port below 0', { flags: { opsPort: '-1' } }, 'opsPort', /"-1" \(flag --ops-port\)/],
    ['a port in hex', { environment: { SIGNALBOX_PORT: '0x10' } }, 'port', /variable SIGNALBOX_PORT/],
    ['a port with a space', { flags: { port: '80 ' } }, 'port', /"80 "/],
    ['an empty port', { environment: { SIGNALBOX_PORT: '' } }, 'port', /""/],
    ['a port as text in the file', { file: { port: '80' } }, 'port', /"80" \(config file \/etc/],
    ['a broken port', { file: { port: 80.5 } }, 'port', /80\.5/],
    ['an empty host', { flags: { host: '' } }, 'host', /""/],
    ['a host with a port', { flags: { opsHost: 'a:80' } }, 'opsHost', /"a:80"/],
    ['a number for a host', { file: { host: 1 } }, 'host', /1 \(config file/],
    ['a value in the file that a flag overrides', { file: { port: 65_536 }, flags: { port: '0' } }, 'port', /65536 \(config file/],
    ['a variable that a flag overrides', { environment: { SIGNALBOX_LOG_LEVEL: 'loud' }, flags: { logLevel: 'info' } }, 'logLevel', /"loud" \(environment/],
    ['an empty data directory', { environment: { SIGNALBOX_DATA_DIR: ' ' } }, 'dataDir', /a path/],
    ['a null in the file', { file: { dataDir: null } }, 'dataDir', /null/],
    ['an unknown level', { flags: { logLevel: 'loud' } }, 'logLevel', /"loud".*trace, debug, info/],
    ['no address', { flags: { trustProxy: '10.0.0.0/8,proxy' } }, 'trustProxy', /CIDR/],
    ['a mask too long', { flags: { trustProxy: '10.0.0.0/33' } }, 'trustProxy', /CIDR/],
    ['a list with a hole', { flags: { trustProxy: '10.0.0.0/8,' } }, 'trustProxy', /CIDR/],
    ['a list of numbers', { file: { trustProxy: [1] } }, 'trustProxy', /\[1\]/],
    ['a certificate alone', { flags: { tlsCert: 'c.pem' } }, 'tlsKey', /"tlsCert" is given without/],
    ['a key alone', { file: { tlsKey: 'k.pem' } }, 'tlsCert', /"tlsKey" is given without/],
    ['a missing certificate', { flags: { tlsCert: '/c', tlsKey: '/k' } }, 'tlsCert', /\/c.*ENOENT/],
    ['a missing key file', { flags: { tlsCert: '/c', tlsKey: '/k' } }, 'tlsKey', /\/k.*ENOENT/],
    ['a missing config file', { flags: { config: '/none' } }, 'config', /The config file \/none does not exist\./],
    ['an empty path of the config file', { environment: { SIGNALBOX_CONFIG: '' } }, 'config', /"config" is "" \(environment variable SIGNALBOX_CONFIG\); it must be a path\./],
    ['an empty flag for the config file', { flags: { config: ' ' } }, 'config', /"config" is " " \(flag --config\)/],
    ['a byte order mark', { file: '\uFEFF{}' }, 'config', /json must be UTF-8 without a byte order mark\./],
    ['another encoding', { file: '{"dataDir":"caf\uFFFD"}' }, 'config', /must be UTF-8/],
    ['a number beyond all', { file: '{"port":1e400}' }, 'port', /"port" is a number too large \(config file/],
    ['a limit beyond all', { file: '{"limits":{"ttlMsMax":-1e400}}' }, 'limits.ttlMsMax', /is a number too large/],
    ['no JSON', { file: '{"port":' }, 'config', /cannot be read as JSON/],
    ['a setting twice', { file: '{"port":80,"host":"::1","port":81}' }, 'port', /"port" is given more than once \(config file .*Keep one/],
    ['a limit twice', { file: '{"limits":{"ttlMsMax":60000,"ttlMsMax":60000}}' }, 'limits.ttlMsMax', /given more than once/],
    ['a section twice', { file: '{"plans":{},"plans":{}}' }, 'plans', /given more than once/],
    ['a list for a file', { file: [] }, 'config', /must hold a JSON object/],
    ['an unknown key', { file: { prot: 80 } }, 'prot', /no setting "prot".*Known here are .*port/],
    ['the secret in the file', { file: { jwtSecret: 'x'.repeat(30) } }, 'jwtSecret', /no setting/],
    ['the file in the file', { file: { config: '/b' } }, 'config', /no setting "config"/],
    ['a prototype', { file: '{"__proto__":{}}' }, '__proto__', /no setting/],
    ['an unknown variable', { environment: { SIGNALBOX_PROT: '1' } }, 'SIGNALBOX_PROT', /SIGNALBOX_PORT/],
    ['limits as a list', { file: { limits: [] } }, 'limits', /must be an object/],
    ['an unknown limit', { file: { limits: { ttlMax: 1 } } }, 'limits.ttlMax', /ttlMsMax/],
    ['an recovered name', { file: { limits: { toString: 1 } } }, 'limits.toString', /no setting/],
    ['plans as null', { file: { plans: null } }, 'plans', /must be an object/],
    ['a plan as text', { file: { plans: { pro: 'all' } } }, 'plans.pro', /"all"/],
    ['a bad plan name', { file: { plans: { 'A b': business } } }, 'plans.A b', /1 to 32/],
    ['an unknown plan field', { file: { plans: { basic: { api: true } } } }, 'plans.basic.api', /publicApi/],
    ['a plan with a text quota', { file: { plans: { basic: { signalsPerDay: '1' } } } }, 'plans.basic.signalsPerDay', /"1"/],
    ['a negative quota', { file: { plans: { basic: { signalsPerMinute: -1 } } } }, 'plans.basic.signalsPerMinute', /-1 .*from 0 to/],
    ['a quota too high', { file: { plans: { basic: { signalsPerMinute: 1e6 + 1 } } } }, 'plans.basic.signalsPerMinute', /to 1000000/],
    ['a plan that is half yes', { file: { plans: { basic: { publicApi: 1 } } } }, 'plans.basic.publicApi', /true or false/],
    ['a new plan with a gap', { file: { plans: { pro: { publicApi: true, signalsPerDay: 1 } } } }, 'plans.pro.signalsPerMinute', /is missing/],
    ['a plan named like a method', { file: { plans: { constructor: {} } } }, 'plans.constructor.publicApi', /is missing/],
    ['no platforms', { file: { platforms: [] } }, 'platforms', /at least one/],
    ['platforms as an object', { file: { platforms: {} } }, 'platforms', /a list/],
    ['a platform as text', { file: { platforms: ['terminal_a'] } }, 'platforms[0]', /object/],
    ['a token with capitals', { file: { platforms: [{ token: 'A', account: 'named' }] } }, 'platforms[0].token', /a-z/],
    ['a token too long', { file: { platforms: [{ token: 'a'.repeat(33), account: 'named' }] } }, 'platforms[0].token', /1 to 32/],
    ['a token with a comma', { file: { platforms: [{ token: 'a,b', account: 'named' }] } }, 'platforms[0].token', /"a,b"/],
    ['a token twice', { file: { platforms: [{ token: 'a', account: 'named' }, { token: 'a', account: 'named' }] } }, 'platforms[1].token', /no other/],
    ['an unknown account form', { file: { platforms: [{ token: 'a', account: 'login' }] } }, 'platforms[0].account', /"login-at-server"/],
    ['an unknown platform field', { file: { platforms: [{ token: 'a', account: 'named', x: 1 }] } }, 'platforms[0].x', /token, account/],
  ];
  for (const [what, given, setting, says] of cases) {
    const refusal = refusals(given).find((found) => found.setting === setting);
    t.match(refusal?.message, says, what);
  }
  t.end();
});

t.test('all that is wrong is told at once', (t) => {
  const found = refusals({
    flags: { port: 'x', tlsCert: '/c' },
    environment: { SIGNALBOX_HOST: '', SIGNALBOX_LEVEL: 'info' },
    file: { limits: { ttlMsMax: 0 }, platforms: [], more: 1 },
  });
  t.same(found.map(({ setting }) => setting).sort(), [
    'SIGNALBOX_LEVEL',
    'host',
    'limits.ttlMsMax',
    'more',
    'platforms',
    'port',
    'tlsKey',
  ]);
  t.end();
});

t.test('where the data directory is enough, what leaves it certain is no error', (t) => {
  const env = { SIGNALBOX_DATA_DIR: '/data' };
  const cases: [what: string, given: Given, isEnough: boolean][] = [
    ['nothing wrong', {}, true],
    ['a wrong limit', { file: { limits: { ttlMsMax: 0 }, dataDir: '/data' } }, true],
    ['a wrong platform', { file: { platforms: [{ token: 'A' }] } }, true],
    ['a port in words', { flags: { port: 'x' } }, true],
    ['a section twice', { file: '{"plans":{},"plans":{}}' }, true],
    ['no certificate', { flags: { tlsCert: '/c', tlsKey: '/k' } }, true],
    ['a misspelt name in the file', { file: { dataDirr: '/data' } }, false],
    ['another beside the directory', { file: { dataDir: '/data', prot: 1 } }, true],
    ['a misspelt variable', { environment: { SIGNALBOX_DATADIR: '/data' } }, false],
    [
      'one beside the directory in the file',
      { environment: { SIGNALBOX_DATADIR: '/data' }, file: { dataDir: '/other' } },
      false,
    ],
    ['an unreadable file', { file: '{"dataDir":' }, false],
    ['the directory twice', { file: '{"dataDir":"/a","dataDir":"/b"}' }, false],
    ['no directory', { file: { dataDir: 1 } }, false],
    ['all of these beside a flag', { flags: { dataDir: '/data' }, file: '{"dataDir":' }, true],
    ['a name beside a variable', { environment: { ...env, SIGNALBOX_PROT: '1' } }, true],
    [
      'a directory that a flag overrides',
      { flags: { dataDir: '/data' }, file: { dataDir: 1 } },
      true,
    ],
    ['an empty flag', { flags: { dataDir: '' }, file: { dataDir: '/data' } }, false],
    ['an empty variable', { environment: { SIGNALBOX_DATA_DIR: '' } }, false],
  ];
  for (const [what, given, isEnough] of cases) {
    const settings = load(given, 'data directory');
    t.equal(!Array.isArray(settings), isEnough, what);
    if (Array.isArray(settings)) continue;
    const all = load(given, 'values');
    const messages = Array.isArray(all) ? all.map(({ message }) => message) : [];
    t.same(settings.mistakes, messages, what);
  }
  t.end();
});

t.test('no sentence repeats a secret', (t) => {
  const [refusal, ...others] = refusals({ environment: { SIGNALBOX_JWT_SECRET: 'hunter2' } });
  t.same(others, []);
  t.equal(refusal?.setting, 'jwtSecret');
  t.match(refusal?.message, /SIGNALBOX_JWT_SECRET.*at least 22/);
  t.notMatch(refusal?.message, /hunter2/);
  const secret = 'correct horse battery staple';
  t.equal(loaded({ environment: { SIGNALBOX_JWT_SECRET: secret } }).jwtSecret, secret);
  t.end();
});

t.test('what other commands and other programs read from the environment is let be', (t) => {
  const environment = { SIGNALBOX_PASSWORD: 'p', SIGNALBOX_SESSION_TOKEN: 's', PORT: 'x' };
  t.same(refusals({ environment }), []);
  t.ok(knownEnvironment.has('SIGNALBOX_CONFIG'));
  t.end();
});

t.test('plans change the shipped ones field by field, and add to them', (t) => {
  t.same(
    { ...loaded({}).plans },
    {
      basic: { publicApi: false, signalsPerMinute: 60, signalsPerDay: 1000 },
      business,
    },
  );
  const pro = { publicApi: true, signalsPerMinute: 1, signalsPerDay: 0 };
  const { plans } = loaded({ file: { plans: { business: { signalsPerDay: 3 }, pro } } });
  t.same(plans['business'], { ...business, signalsPerDay: 3 });
  t.same(plans['pro'], pro);
  t.equal(plans['constructor'], undefined, 'no plan comes from a prototype');
  t.same(loaded({}).plans['business'], business, 'what is shipped is not changed by it');
  t.end();
});

t.test('platforms take the place of the shipped list', (t) => {
  t.same(loaded({}).platforms, [
    { token: 'terminal_a', account: 'named' },
    { token: 'terminal_b', account: 'login-at-server' },
  ]);
  const platforms = [{ token: 'desk_9', account: 'named' }];
  t.same(loaded({ file: { platforms } }).platforms, platforms);
  t.end();
});

t.test(
  'a list of proxies can be empty, so that the environment takes back what the file trusts',
  (t) => {
    const given = {
      environment: { SIGNALBOX_TRUST_PROXY: '' },
      file: { trustProxy: ['10.0.0.1'] },
    };
    t.same(loaded(given).trustProxy, []);
    t.same(loaded({ file: { trustProxy: '10.0.0.1, fd00::/8' } }).trustProxy, [
      '10.0.0.1',
      'fd00::/8',
    ]);
    t.end();
  },
);

t.test('settings cannot be changed once they are loaded, at any depth', (t) => {
  const settings = loaded({
    file: { trustProxy: ['10.0.0.1'], platforms: [{ token: 'a', account: 'named' }] },
  });
  const objects = [
    settings,
    settings.limits,
    settings.plans,
    settings.plans['basic'],
    settings.platforms,
    settings.platforms[0],
    settings.trustProxy,
  ];
  for (const object of objects) t.ok(Object.isFrozen(object));
  t.end();
});
