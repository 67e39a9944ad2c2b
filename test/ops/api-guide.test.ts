/**
 * ops/api-guide.md: every command and program on it runs, in its order and in one shell, against a real
 * gateway with a paper terminal, and answers what the page shows; its tables are the code's.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { limits } from '../../src/limits.js';
import { startTestGateway } from '../support/gateway.js';
import { password } from '../support/gateway-process.js';
import { missing } from '../support/installed.js';
import { blocksOf, differences, play, type Block } from '../support/page.js';
import { openShell, pathWith, signalboxScript } from '../support/shell.js';
import { pageFile, pageTables } from './api-guide-page.js';
import { withTables } from './page-tables.js';

const page = readFileSync(pageFile, 'utf8');
const blocks = blocksOf(page);
const runs = blocks.filter(({ language }) => ['sh', 'js'].includes(language));
/** The blocks that do not run: samples of answers. */
const samples = blocks.filter((block) => !runs.includes(block));
const skip = ['bash', 'curl'].map((name) => missing(name, ['--version'])).find(Boolean) ?? false;
const email = 'guide@example.com';
const gateway = await startTestGateway(t, { emails: [email] });

t.test('the tables are the code’s', async (t) => {
  t.equal(
    page,
    withTables(page, pageTables()),
    'out of date: run "node build/test/ops/api-guide-page.program.js" and commit ops/api-guide.md',
  );
});

t.test(
  'every command and program runs as it stands, and answers what the page shows',
  { skip },
  async (t) => {
    const directory = t.testdir();
    const environment = { PATH: pathWith(directory, { signalbox: signalboxScript }) };
    const shell = openShell(t, { directory, environment, input: `${password}\n` });
    // No other test makes a key on this gateway before, so that the page's key ids are right.
    const edit = (text: string): string =>
      text.replaceAll('http://127.0.0.1:8080', gateway.url).replaceAll('ann@example.com', email);
    await play(t, runs, shell, edit);
  },
);

t.test('a bot that died while it waited for the answer finds its order again', async (t) => {
  const directory = t.testdir();
  const { key } = await gateway.user();
  const proxy = await openMutedProxy(t, gateway.url);
  const program = runs.find(({ text }) => text.includes("'pending.json'")) as Block;
  writeFileSync(join(directory, 'pending.mjs'), program.text);
  const start = (baseUrl: string) =>
    spawn(process.execPath, ['pending.mjs'], {
      cwd: directory,
      env: { URL: baseUrl, KEY: key },
      stdio: ['ignore', 'pipe', 'inherit'],
    });

  const first = start(proxy.url);
  t.teardown(() => first.kill('SIGKILL'));
  const accepted = await proxy.answer;
  first.kill('SIGKILL');
  await once(first, 'close');
  const { requestId } = JSON.parse(/\{"requestId".*\}/.exec(accepted)?.[0] ?? '') as {
    requestId: string;
  };

  const second = start(gateway.url);
  let output = '';
  second.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  await once(second, 'close');
  t.equal(output, `accepted: ${requestId}\n`);
});

t.test('the 429 on the page is what a bot gets that is too fast', { skip }, async (t) => {
  const { key } = await gateway.user();
  const url = `${gateway.url}/api/v1/terminal-events/sources`;
  const ask = (address: string): string => {
    const args = ['-si', address, '-H', `Authorization: Bearer ${key}`];
    return spawnSync('curl', args, { encoding: 'utf8' }).stdout;
  };
  ask(`${url}?n=[1-${limits.keyRequestsPerMinute.value}]`);
  t.equal(samples.length, 1);
  t.same(differences(samples[0] as Block, ask(url)), []);
});

t.test('the generators of clients on the page are those that a test runs', async (t) => {
  const read = (file: string): any =>
    JSON.parse(readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8'));
  const versions: Record<string, string> = {
    ...read('test/generators/package.json').dependencies,
    'openapi-typescript': read('package.json').devDependencies['openapi-typescript'],
  };
  for (const [name, version] of Object.entries(versions)) {
    t.match(page, `\`${name}\` ${version} `, name);
  }
  // Without it npx takes the newest TypeScript, whose API the generator does not know.
  const locked = read('test/generators/package-lock.json').packages;
  versions['typescript'] = locked['node_modules/typescript'].version;
  const commands = [...page.matchAll(/(?:npx|-p) (@?[\w/-]+)@([\d.]+)/g)];
  t.ok(commands.some(([, name]) => name === 'typescript'));
  for (const [, name = '', version] of commands) t.equal(version, versions[name], name);
});

/** A proxy that loses the gateway's answers. `answer`: the first that it lost. */
async function openMutedProxy(
  t: Test,
  gatewayUrl: string,
): Promise<{ readonly url: string; readonly answer: Promise<string> }> {
  const port = Number(new URL(gatewayUrl).port);
  let hear: (answer: string) => void = () => undefined;
  const answer = new Promise<string>((resolve) => (hear = resolve));
  const server = createServer((client) => {
    const gateway = connect(port, '127.0.0.1');
    let lost = '';
    gateway.setEncoding('utf8').on('data', (text: string) => {
      lost += text;
      if (lost.includes('"}')) hear(lost);
    });
    for (const [one, other] of [[client, gateway] as const, [gateway, client] as const]) {
      one.on('error', () => undefined).on('close', () => other.destroy());
    }
    client.pipe(gateway);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, answer };
}
