/**
 * ops/runbook.md against the alerts, and its commands against a real gateway: every block runs. What
 * belongs to the machine and not to the gateway (systemd, the journal, the time service) is a stand-in
 * that answers as it would: with the gateway's process and with its real log.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { parse } from 'yaml';
import { createKey, login, signal, submit } from '../support/api.js';
import { certificatePem } from '../support/certificate.js';
import { dataDirOf } from '../support/gateway.js';
import { startGateway } from '../support/gateway-process.js';
import { missing } from '../support/installed.js';
import { blocksOf } from '../support/page.js';
import { openShell, pathWith, signalboxScript } from '../support/shell.js';
import { alerts, opsDirectory, readOps } from './rule-files.js';
import { addUsers } from '../support/users.js';

interface RuleCase {
  readonly promql_expr_test?: readonly {
    readonly expr: string;
    readonly exp_samples?: readonly object[];
  }[];
}

const runbook = readOps('runbook.md');
const sections = new Map(
  runbook
    .split(/^## /m)
    .slice(1)
    .map((text): [string, string] => [text.slice(0, text.indexOf('\n')), text]),
);
const blocks = blocksOf(runbook)
  .filter(({ language }) => language === 'sh')
  .map(({ text }) => text);
/** What the commands need besides the gateway's own, with the argument that asks for a version. */
const programs = [
  ['bash', '--version'],
  ['curl', '--version'],
  ['openssl', 'version'],
  ['ps', '--version'],
] as const;
/** The command itself, and stand-ins for the programs of the machine. */
const standIns: Readonly<Record<string, string>> = {
  signalbox: signalboxScript,
  systemctl: 'if [ "$1" = show ]; then echo "$GATEWAY_PID"; fi',
  journalctl: 'case "$*" in *signalbox*) cat "$GATEWAY_LOG" ;; esac',
  timedatectl: '',
  chronyc: '',
};

/** Of a service whose process ended, and why. */
const systemdWords = ['Watchdog timeout', 'Main process exited'] as const;

/** What the commands of a section show of traffic with a wrong key, and with a signal that no terminal takes. */
const causes: Readonly<Record<string, RegExp>> = {
  SignalboxSignalsDenied: /ann@example\.com.* denied/,
  SignalboxCredentialsGuessed: /\d "clientAddress":"127\.0\.0\.1"/,
};

t.test(
  'every alert has a section, linked from the alert, and every section an alert',
  async (t) => {
    t.same(
      [...sections.keys()],
      alerts.map(({ alert }) => alert),
    );
    for (const { alert, annotations } of alerts) {
      t.equal(annotations['runbook'], `ops/runbook.md#${alert.toLowerCase()}`, alert);
      t.match(annotations['summary'], /\S\.$/, alert);
    }
  },
);

t.test(
  'every section tells meaning, first look and remedy, and has a command to begin with',
  async (t) => {
    for (const [alert, text] of sections) {
      const parts = [...text.matchAll(/^\*\*(.+?)\.\*\* \S/gm)].map(([, part]) => part);
      t.same(parts, ['Meaning', 'First look', 'Remedy'], alert);
      const firstLook = text.slice(text.indexOf('**First look'), text.indexOf('**Remedy'));
      t.match(firstLook, '```sh', alert);
    }
  },
);

t.test('an alert pages or makes a ticket, and nothing else', async (t) => {
  for (const { alert, labels } of alerts) {
    t.match(labels, { severity: /^(?:page|ticket)$/ }, alert);
    t.same(Object.keys(labels), ['severity'], alert);
  }
});

t.test('every alert has a case in which it fires and one in which it is silent', async (t) => {
  const { tests } = parse(readOps('prometheus/rules.test.yml')) as { tests: readonly RuleCase[] };
  const cases = tests.flatMap(({ promql_expr_test: expressions = [] }) => expressions);
  for (const { alert } of alerts) {
    const own = cases.filter(({ expr }) => expr.includes(`"${alert}"`));
    t.ok(
      own.some(({ exp_samples: samples = [] }) => samples.length > 0),
      `${alert} fires`,
    );
    t.ok(
      own.some(({ exp_samples: samples = [] }) => samples.length === 0),
      `${alert} is silent`,
    );
  }
});

t.test('the overview names everything that lies in ops/, and every rule file', async (t) => {
  const overview = readOps('README.md');
  for (const entry of readdirSync(opsDirectory, { withFileTypes: true })) {
    const name = entry.isDirectory() ? `${entry.name}/` : entry.name;
    t.ok(name === 'README.md' || overview.includes(`](${name})`), name);
  }
  for (const file of readdirSync(new URL('prometheus/', opsDirectory))) {
    t.match(overview, `| \`${file}\` |`, file);
  }
});

t.test('the certificate that the runbook looks at is that of the drop-in', async (t) => {
  const [, path = 'none'] = /^CERT=(\S+)/m.exec(runbook) ?? [];
  t.match(readOps('systemd/tls.conf'), `LoadCredential=tls.cert:${path}\n`);
});

t.test(
  'the words that the runbook looks for in the log are words that the gateway, Node or systemd says',
  async (t) => {
    const source = readAll(fileURLToPath(new URL('../src/', opsDirectory))) + wordsOfAnEnd();
    const searches = blocks.filter((text) => text.includes('journalctl -u signalbox'));
    const words = searches.flatMap((text) =>
      [...text.matchAll(/ -e '([^']+)'/g)].map(([, word = '']) => word),
    );
    t.ok(words.length > 5);
    for (const word of words) t.ok(source.includes(word), word);
  },
);

t.test('the runbook shows what ended a process that restarts', async (t) => {
  for (const word of [
    'unexpected error; the gateway ends',
    ...systemdWords,
    'heap out of memory',
  ]) {
    t.match(sections.get('SignalboxRestarting'), ` -e '${word}'`);
  }
});

t.test('the runbook looks for every line that counts an internal error', async (t) => {
  const source = readFileSync(new URL('../src/gateway.ts', opsDirectory), 'utf8');
  const messages = [...source.matchAll(/unexpected\(\{[^}]*\}, '([^';]+)/g)];
  t.ok(messages.length > 3);
  for (const [, message = ''] of messages) {
    t.match(sections.get('SignalboxInternalErrors'), `-e '${message}'`);
  }
});

t.test('the runbook looks a day back for what the log tells only when it begins', async (t) => {
  const looks = runbook
    .split('\n')
    .filter((line) => /journalctl.*-e '(a commit|data\.mdb can)/.test(line));
  t.ok(looks.length > 2);
  for (const look of looks) t.match(look, '--since yesterday');
});

t.test(
  'every block of commands runs against a gateway',
  {
    skip: programs.map(([name, ask]) => missing(name, [ask])).find(Boolean) ?? false,
  },
  async (t) => {
    const dataDir = dataDirOf(t);
    const directory = dirname(dataDir);
    await addUsers(dataDir, [{ email: 'ann@example.com', plan: 'business' }]);
    const gateway = await startGateway({ dataDir });
    t.teardown(() => gateway.kill());
    const { token } = await login(gateway.url, 'ann@example.com');
    const { key } = await createKey(gateway.url, token);
    await submit(gateway.url, key, signal());
    await submit(gateway.url, 'svc_api_wrong', signal());
    const certificate = join(directory, 'cert.pem');
    writeFileSync(certificate, certificatePem);
    const logFile = join(directory, 'log');
    const environment = {
      PATH: pathWith(directory, standIns),
      SIGNALBOX_DATA_DIR: dataDir,
      OPS: gateway.opsUrl,
      API: gateway.url,
      GATEWAY_PID: `${gateway.process.pid}`,
      GATEWAY_LOG: logFile,
      CERT: certificate,
    };
    const outputs = new Map<string, string>();
    for (const block of blocks) {
      writeFileSync(logFile, gateway.log());
      // Each block has a shell of its own: the first sets addresses of a real installation.
      const shell = openShell(t, { directory, environment });
      const { ok, output } = await shell.run(block);
      t.ok(ok, `${block}${output}`);
      if (block.includes('/plugin/v1')) t.match(output, /^401$/m, 'as the runbook says');
      outputs.set(block, output);
    }
    for (const [alert, cause] of Object.entries(causes)) {
      const own = blocks.filter((block) => sections.get(alert)?.includes(block));
      t.match(own.map((block) => outputs.get(block)).join('\n'), cause, `${alert} shows its cause`);
    }
    t.equal(gateway.process.exitCode, null, 'and the gateway still serves');
  },
);

/** What systemd says in the unit's journal of a process that ended, and Node of one without memory. */
function wordsOfAnEnd(): string {
  const fill = 'const all = []; for (;;) all.push(new Array(1e5).fill(all.length));';
  const { stderr } = spawnSync(process.execPath, ['--max-old-space-size=8', '--eval', fill], {
    encoding: 'utf8',
  });
  return [...systemdWords, stderr].join('\n');
}

function readAll(directory: string): string {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join(directory, file), 'utf8'))
    .join('\n');
}
