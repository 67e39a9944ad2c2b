/** ops/docker without an engine: linted, held against the house's rules, and its commands run for real. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { validate } from 'dockerfile-utils';
import t from 'tap';
import { parse } from 'yaml';
import { loadSettings } from '../../src/settings.js';
import { knownEnvironment } from '../../src/settings/table.js';
import { missing } from '../support/installed.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const dockerfile = readFileSync(`${root}ops/docker/Dockerfile`, 'utf8');
const composeFile = `${root}ops/docker/compose.yaml`;

interface Instruction {
  readonly name: string;
  readonly text: string;
}

/** One list of instructions for each stage. */
const stages = dockerfile
  .replace(/^#.*\n/gm, '')
  .replace(/\\\n/g, ' ')
  .split('\n')
  .map((line): Instruction => {
    const [, name = '', text = ''] = /^(\S+)\s+(.*)$/.exec(line.trim()) ?? [];
    return { name, text };
  })
  .reduce<Instruction[][]>((found, instruction) => {
    if (instruction.name === 'FROM') found.push([]);
    if (instruction.name !== '') found.at(-1)?.push(instruction);
    return found;
  }, []);
const last = stages.at(-1) as Instruction[];

function textsOf(stage: readonly Instruction[], name: string): string[] {
  return stage.filter((instruction) => instruction.name === name).map(({ text }) => text);
}

/** Variables of the last stage, from lines such as `ENV A=1 B=2`. */
const environment = Object.fromEntries(
  textsOf(last, 'ENV')
    .join(' ')
    .split(/\s+/)
    .map((assignment) => assignment.split('=') as [string, string]),
);

t.test('the linter finds nothing, and would find a mistake', (t) => {
  t.same(validate(dockerfile), []);
  t.not(validate(dockerfile.replace('USER 1000:1000', 'USR 1000:1000')).length, 0);
  t.end();
});

t.test('the image holds what runs and no more, and runs as nobody of importance', (t) => {
  t.equal(stages.length, 3);
  for (const stage of stages) t.same(textsOf(stage, 'FROM')[0]?.split(' ')[0], '${NODE_IMAGE}');
  t.match(dockerfile, /^ARG NODE_IMAGE=node:22-slim$/m);
  t.match(textsOf(stages[1] as Instruction[], 'RUN')[0], /^npm ci --omit=dev /);
  t.match(textsOf(last, 'USER')[0], /^[1-9]\d*:[1-9]\d*$/, 'a number that is not root');
  t.same(textsOf(last, 'STOPSIGNAL'), ['SIGTERM']);
  for (const name of Object.keys(environment)) {
    if (name.startsWith('SIGNALBOX_')) t.ok(knownEnvironment.has(name), name);
  }
  t.end();
});

t.test('what is copied is there, and the build is allowed to see it', (t) => {
  const seen = readFileSync(`${root}.dockerignore`, 'utf8').split('\n');
  t.ok(seen.includes('*'), 'nothing else');
  const copied = stages
    .flatMap((stage) => textsOf(stage, 'COPY'))
    .filter((text) => !text.startsWith('--from='))
    .flatMap((text) => text.split(/\s+/).slice(0, -1));
  for (const path of copied) {
    t.ok(existsSync(root + path), path);
    t.ok(seen.includes(`!${path.replace('./', '')}`), `${path} passes .dockerignore`);
  }
  t.end();
});

t.test('what the image holds starts, and its health check tells how it is', async (t) => {
  const app = t.testdir();
  mkdirSync(`${app}/build`);
  cpSync(`${root}build/bin`, `${app}/build/bin`, { recursive: true });
  cpSync(`${root}package.json`, `${app}/package.json`);
  symlinkSync(`${root}node_modules`, `${app}/node_modules`);
  symlinkSync(`${app}/build/bin/signalbox.js`, `${app}/signalbox`);

  const entry = JSON.parse(textsOf(last, 'ENTRYPOINT')[0] as string) as string[];
  const command = JSON.parse(textsOf(last, 'CMD')[0] as string) as string[];
  t.same([...entry, ...command], ['signalbox', 'serve']);
  const free = { SIGNALBOX_PORT: '0', SIGNALBOX_OPS_PORT: '0', SIGNALBOX_DATA_DIR: `${app}/data` };
  const gateway = spawn(`${app}/signalbox`, command, {
    cwd: app,
    env: { PATH: process.env['PATH'], ...environment, ...free },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => gateway.kill('SIGKILL'));
  const [ready] = (await once(createInterface({ input: gateway.stdout }), 'line')) as [string];
  const { url, opsUrl } = JSON.parse(ready) as { url: string; opsUrl: string };
  t.match(url, /^http:\/\/0\.0\.0\.0:/, 'reached from outside the container');

  const health = /CMD (\[.*\])$/.exec(textsOf(last, 'HEALTHCHECK')[0] as string)?.[1] as string;
  const [program = '', ...args] = JSON.parse(health) as string[];
  t.match(args.join(' '), "'http://127.0.0.1:9464/readyz'");
  const check = (): number | null => {
    const port = new URL(opsUrl).port;
    return spawnSync(
      program,
      args.map((text) => text.replace(':9464/', `:${port}/`)),
    ).status;
  };
  t.equal(check(), 0);
  const ended = once(gateway, 'exit');
  gateway.kill(textsOf(last, 'STOPSIGNAL')[0] as NodeJS.Signals);
  t.same((await ended)[0], 0);
  t.equal(check(), 1);
});

t.test('on two processors the container starts what the unit starts', (t) => {
  const guide = readFileSync(`${root}ops/install.md`, 'utf8');
  const [, lines = ''] = /```yaml\n([\s\S]*?)```/.exec(guide) ?? [];
  // Beside an entrypoint Compose ignores the command of the image.
  const { entrypoint = [], command = [] } = parse(lines) as Record<string, string[]>;
  const unit = readFileSync(`${root}ops/systemd/two-processors.conf`, 'utf8');
  const [, started = ''] = /^ExecStart=(\S.*)$/m.exec(unit) ?? [];
  t.equal(
    [...entrypoint, ...command].join(' '),
    started.replace('/usr/bin/', '').replace('/opt/signalbox/current/', '/app/'),
  );
  t.end();
});

t.test('the composed service has a root that nobody can write and no privileges', (t) => {
  const { services, volumes } = parse(readFileSync(composeFile, 'utf8'));
  const service = services.signalbox;
  t.match(service, {
    user: textsOf(last, 'USER')[0],
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
    logging: { driver: 'journald' },
    stop_grace_period: '15s',
  });
  t.same(Object.keys(volumes), ['data', 'backups']);
  const mounts = [`data:${environment['SIGNALBOX_DATA_DIR']}`, 'backups:/backups'];
  for (const mount of mounts) {
    t.ok(service.volumes.includes(mount), mount);
    const made = new RegExp(`install .*--owner=node .*--mode=0700.* ${mount.split(':')[1]}( |$)`);
    t.match(textsOf(last, 'RUN').join('\n'), made, 'its user can write there');
  }
  for (const port of service.ports) t.match(port, /^127\.0\.0\.1:/, 'this machine alone');
  for (const name of Object.keys(service.environment)) t.ok(knownEnvironment.has(name), name);
  t.equal(
    existsSync(`${root}ops/docker/${service.build.context}/${service.build.dockerfile}`),
    true,
  );

  const config = `${root}ops/docker/config.json`;
  const readFile = (path: string): string => readFileSync(path, 'utf8');
  t.notOk(Array.isArray(loadSettings({ flags: { config }, environment: {}, readFile })));
  t.end();
});

t.test('the runbook names the container, its log and its volume as they are', (t) => {
  const runbook = readFileSync(`${root}ops/runbook.md`, 'utf8');
  const { name, services } = parse(readFileSync(composeFile, 'utf8'));
  const [service = ''] = Object.keys(services);
  t.match(runbook, `docker exec ${name}-${service}-1 signalbox`);
  t.match(runbook, `docker restart ${name}-${service}-1`);
  t.match(runbook, `journalctl -t ${services[service].logging.options.tag}\``);
  t.match(runbook, `docker volume inspect ${name}_data`);
  t.end();
});

t.test(
  'Docker itself accepts the composed service',
  { skip: missing('docker', ['compose', 'version']) },
  (t) => {
    const { status, stderr } = spawnSync(
      'docker',
      ['compose', '--file', composeFile, 'config', '--quiet'],
      { encoding: 'utf8' },
    );
    t.same({ status, stderr }, { status: 0, stderr: '' });
    t.end();
  },
);
