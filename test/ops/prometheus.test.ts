/**
 * The rules and the dashboard in a real Prometheus that scrapes two real gateways, one of them with
 * TLS, after traffic of every kind. Skipped where Debian's package "prometheus" is not installed.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { call } from '../support/api.js';
import { certificatePem, privateKeyPem } from '../support/certificate.js';
import { report, tell } from '../support/frames.js';
import { freePort } from '../support/free-port.js';
import { startTestGateway } from '../support/gateway.js';
import { eventually } from '../support/eventually.js';
import { openReader } from '../support/event-reader.js';
import { startGateway } from '../support/gateway-process.js';
import { missing } from '../support/installed.js';
import { alerts, dashboardQueries, opsDirectory, recordings, selectorsOf } from './rule-files.js';

const ruleDirectory = fileURLToPath(new URL('prometheus/', opsDirectory));

/** A running Prometheus server. */
interface Prometheus {
  readonly url: string;
}

interface Answer {
  readonly status: 'success' | 'error';
  readonly error?: string;
  readonly data: any;
}

t.test(
  'promtool finds configuration and rules right, and every case of the rules holds',
  {
    skip: missing('promtool', ['--version']),
  },
  async (t) => {
    for (const args of [
      ['check', 'config', 'prometheus.yml'],
      ['check', 'rules', '--lint=all', '--lint-fatal', 'recording.yml', 'alerts.yml'],
      ['test', 'rules', 'rules.test.yml'],
    ]) {
      const { status, stdout, stderr } = spawnSync('promtool', args, {
        cwd: ruleDirectory,
        encoding: 'utf8',
      });
      t.equal(status, 0, `promtool ${args.join(' ')}\n${stdout}${stderr}`);
    }
  },
);

t.test(
  'in a real Prometheus every rule is well and every query finds its metrics',
  {
    skip: missing('prometheus', ['--version']),
  },
  async (t) => {
    const gateway = await startTestGateway(t);
    const user = await gateway.user();
    const plugin = await gateway.plugin(user);
    await openReader(gateway.url, user.key);
    const { executionId } = await gateway.order(user, plugin);
    await tell(plugin, report(1, executionId, 'filled'));
    await call(gateway.url, 'GET', '/api/v1/terminal-events/sources');

    // Beside the desk's data: a second testdir of the same test would empty the first.
    const directory = dirname(gateway.dataDir);
    const [cert, key] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
    writeFileSync(cert, certificatePem);
    writeFileSync(key, privateKeyPem);
    const tlsGateway = await startGateway({
      dataDir: join(directory, 'tls-data'),
      flags: ['--tls-cert', cert, '--tls-key', key],
    });
    t.teardown(() => tlsGateway.kill());
    const targets = [gateway.process.opsUrl, tlsGateway.opsUrl].map((url) => new URL(url).host);
    const prometheus = await startPrometheus(t, join(directory, 'prometheus'), targets);

    await t.test('both gateways are scraped', async (t) => {
      // On a busy machine a scrape may fail: a later one counts.
      const areUp = await soon(async () => {
        const { activeTargets } = (await ask(prometheus, 'targets')).data;
        const up = activeTargets.filter(({ health }: { health: string }) => health === 'up');
        return up.length === targets.length;
      });
      t.ok(areUp);
    });

    await t.test('every rule is loaded and evaluated without an error', async (t) => {
      const rules = await soon(async () => {
        const { groups } = (await ask(prometheus, 'rules')).data;
        const all: { name: string; health: string; lastError?: string }[] = groups.flatMap(
          (group: { rules: object[] }) => group.rules,
        );
        return all.every(({ health }) => health !== 'unknown') && all;
      });
      const names = [
        ...recordings.map(({ record }) => record),
        ...alerts.map(({ alert }) => alert),
      ];
      t.same(rules.map(({ name }) => name).sort(), names.sort());
      for (const { name, health, lastError = '' } of rules) t.equal(health, 'ok', name + lastError);
    });

    await t.test('what is recorded comes to be, once a rate has two scrapes', async (t) => {
      for (const { record } of recordings) {
        t.ok(await soon(async () => (await count(prometheus, record)) > 0), record);
      }
    });

    await t.test('every query is answered, and every metric in it has a series', async (t) => {
      const expressions = [
        ...alerts.map(({ expr }) => expr),
        ...recordings.map(({ expr }) => expr),
        ...dashboardQueries,
      ];
      for (const expr of expressions) {
        const { status, error = '' } = await ask(prometheus, 'query', expr);
        t.equal(status, 'success', `${expr} ${error}`);
      }
      const texts = new Set(
        expressions.flatMap(selectorsOf).map(({ text }) => withoutStatus(text)),
      );
      t.ok(texts.size > 60);
      for (const text of texts) {
        t.ok(await soon(async () => (await count(prometheus, text)) > 0), text);
      }
    });

    await t.test('of two gateways that are well, nothing is alerted', async (t) => {
      t.equal(await count(prometheus, 'ALERTS{alertstate="firing"}'), 0);
    });

    await t.test('a gateway that is gone is pending at once', async (t) => {
      await tlsGateway.kill();
      const pending = `ALERTS{alertname="SignalboxDown", instance="${targets[1] ?? ''}"}`;
      t.ok(await soon(async () => (await count(prometheus, pending)) > 0));
    });
  },
);

/** Waits longer than other tests: on a busy machine Prometheus scrapes and evaluates late. */
function soon<T>(ask: () => Promise<T>): Promise<Exclude<T, undefined | null | false>> {
  return eventually(ask, 60_000);
}

/** Removes the status: a series of it exists once a request got it, and no test can cause all statuses. */
function withoutStatus(selector: string): string {
  if (!selector.startsWith('signalbox_http_requests_total{')) return selector;
  return selector.replaceAll(/status!?=~?"[^"]*",?\s*/g, '').replace(/operation=~?"[^"]*"/, '');
}

async function startPrometheus(
  t: Test,
  directory: string,
  targets: readonly string[],
): Promise<Prometheus> {
  cpSync(ruleDirectory, directory, { recursive: true });
  const file = join(directory, 'prometheus.yml');
  const shipped = readFileSync(file, 'utf8');
  const substituted = shipped
    .replace("['127.0.0.1:9464']", JSON.stringify(targets))
    .replaceAll('_interval: 10s', '_interval: 1s')
    .replace(/^# Where alerts go[\s\S]*/m, '');
  writeFileSync(file, substituted);
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(
    'prometheus',
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(directory, 'tsdb')}`,
      `--web.listen-address=${address}`,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  t.teardown(() => end(child));
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const url = `http://${address}`;
  await soon(async () => {
    if (child.exitCode !== null) throw new Error(`prometheus ended:\n${log}`);
    return fetch(`${url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  });
  return { url };
}

async function end(child: ChildProcess): Promise<void> {
  const exited = child.exitCode === null ? once(child, 'exit') : undefined;
  child.kill('SIGKILL');
  await exited;
}

async function ask({ url }: Prometheus, path: string, query?: string): Promise<Answer> {
  const search = query === undefined ? '' : `?${new URLSearchParams({ query }).toString()}`;
  return (await call(url, 'GET', `/api/v1/${path}${search}`)).body;
}

/** @returns how many series an instant query finds. */
async function count(prometheus: Prometheus, query: string): Promise<number> {
  const { status, error, data } = await ask(prometheus, 'query', query);
  if (status !== 'success') throw new Error(`${query}: ${error ?? ''}`);
  return data.result.length;
}
