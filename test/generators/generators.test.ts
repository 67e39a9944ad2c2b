/**
 * Clients that are generated from the document: all are compiled at once, and each drives a gateway with a
 * paper terminal. Those for TypeScript are installed if the registry can be reached; the one for Go must be
 * on the machine.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import openapiTS, { astToString } from 'openapi-typescript';
import t, { type Test } from 'tap';
import { startCommand } from '../support/command.js';
import { eventually } from '../support/eventually.js';
import { startTestGateway, type TestGateway } from '../support/gateway.js';
import { password } from '../support/gateway-process.js';
import { missing } from '../support/installed.js';
import { installGenerators } from './installed-generators.js';

const root = join(import.meta.dirname, '../../..');
const source = join(root, 'test/generators');
const email = 'generated@example.com';

const seen = {
  hasKey: true,
  filled: 1,
  cancel: 'requested',
  reason: 'cancelled_by_api',
  snapshot: 'state_snapshot',
  error: 'request_not_found',
  revoked: 204,
};
const unpriced = 'limit';
const bots = {
  'hey-api': { ...seen, unpriced, event: 1 },
  'openapi-fetch': { ...seen, unpriced, event: 2 },
  orval: { ...seen, unpriced },
};

/** Runs a program to its end, in the folder of the generated clients. @returns what it has printed. */
async function run(
  t: Test,
  cwd: string,
  program: string,
  args: readonly string[],
  environment: object = {},
): Promise<string> {
  const child = spawn(program, args, { cwd, env: { ...process.env, ...environment } });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  if (code !== 0) t.fail(`${program} ${args.join(' ')}`, { stdout, stderr });
  return stdout;
}

/** @returns a folder beside the files of the gateway. */
function clientFolder(t: Test): string {
  const folder = join(t.testdirName, 'client');
  mkdirSync(folder);
  return folder;
}

async function startDesk(t: Test): Promise<TestGateway> {
  const gateway = await startTestGateway(t, { emails: [email] });
  const name = ['--platform', 'terminal_a', '--instance', 'desk', '--account', 'Sim101'];
  const login = ['--url', gateway.url, '--email', email, '--password-stdin', '--tick-ms', '0'];
  const terminal = startCommand(['terminal', ...name, ...login], `${password}\n`);
  t.teardown(async () => {
    terminal.process.kill('SIGTERM');
    await terminal.ended;
  });
  await eventually(() => terminal.stdout().includes('connected'));
  return gateway;
}

const generators = installGenerators();
const skip = 'missing' in generators && generators.missing;

await t.test('clients for TypeScript compile and drive a gateway', { skip }, async (t) => {
  if ('missing' in generators) return;
  const gateway = await startDesk(t);
  const directory = clientFolder(t);
  const node = (program: string, ...args: string[]) =>
    run(t, directory, process.execPath, [program, ...args], { SIGNALBOX_URL: gateway.url });
  for (const name of ['openapi-ts.config.mjs', 'orval.config.mjs']) {
    cpSync(join(source, name), join(directory, name));
  }
  cpSync(join(source, 'bots'), directory, { recursive: true });
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
  symlinkSync(generators.path, join(directory, 'node_modules'));

  const document = await (await fetch(`${gateway.url}/openapi.json`)).text();
  writeFileSync(join(directory, 'openapi.json'), document);
  const types = astToString(await openapiTS(document));
  writeFileSync(join(directory, 'openapi-fetch.gen.ts'), types);
  await node(join(generators.path, '@hey-api/openapi-ts/bin/run.js'), '--silent');
  await node(join(generators.path, 'orval/dist/bin/orval.js'));
  const modules = join(root, 'node_modules');
  const typeRoots = join(modules, '@types');
  await node(join(modules, 'typescript/bin/tsc'), '-p', '.', '--typeRoots', typeRoots);

  for (const [bot, expected] of Object.entries(bots)) {
    const printed = await node(join('js', `${bot}.js`), gateway.url, email, password);
    t.same(JSON.parse(printed), expected, bot);
  }
});

await t.test('each command of the guide generates its client', { skip }, async (t) => {
  if ('missing' in generators) return;
  const gateway = await startTestGateway(t, {});
  const directory = clientFolder(t);
  const document = await (await fetch(`${gateway.url}/openapi.json`)).text();
  writeFileSync(join(directory, 'openapi.json'), document);
  cpSync(join(source, 'orval.config.mjs'), join(directory, 'orval.config.mjs'));
  const folders = [generators.path, join(root, 'node_modules')].map((path) => join(path, '.bin'));
  const environment = {
    PATH: [...folders, process.env['PATH']].join(delimiter),
    SIGNALBOX_URL: gateway.url,
  };
  const guide = readFileSync(join(root, 'ops/api-guide.md'), 'utf8');
  for (const [, words = ''] of guide.matchAll(/`npx ([^`]+)`/g)) {
    // The packages, which npx would fetch, are here in the same versions.
    const [program = '', ...args] = words.replaceAll(/-p \S+ /g, '').split(' ');
    await run(t, directory, program.replace(/@[\d.]+$/, ''), args, environment);
  }
  for (const file of ['client/sdk.gen.ts', 'api.ts', 'orval.gen.ts']) {
    t.ok(existsSync(join(directory, file)), file);
  }
});

/** The packages that a generated client imports must be in GOPATH: the test fetches none. */
const noGo =
  missing('go', ['version']) ||
  missing('oapi-codegen', ['-version']) ||
  (process.env['GO111MODULE'] !== 'off' && 'GO111MODULE is not off');

await t.test('a client for Go compiles and drives a gateway', { skip: noGo }, async (t) => {
  const gateway = await startDesk(t);
  const directory = clientFolder(t);
  const document = await (await fetch(`${gateway.url}/openapi-3.0.json`)).text();
  writeFileSync(join(directory, 'openapi-3.0.json'), document);
  cpSync(join(source, 'bots/main.go'), join(directory, 'main.go'));
  const options = ['-generate', 'types,client', '-package', 'main'];
  const code = await run(t, directory, 'oapi-codegen', [...options, 'openapi-3.0.json']);
  writeFileSync(join(directory, 'client.gen.go'), code);
  await run(t, directory, 'go', ['build', '-o', 'bot']);
  const printed = await run(t, directory, './bot', [gateway.url, email, password]);
  t.same(JSON.parse(printed), { ...seen, event: 1 });
});
