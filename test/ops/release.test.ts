/** The file that `npm pack` makes: it holds what the install guide uses, and starts. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';

const root = join(import.meta.dirname, '../../..');
const guide = readFileSync(join(root, 'ops/install.md'), 'utf8');

t.test('a release holds what the guide installs, and its command starts', async (t) => {
  const directory = t.testdir();
  // Scripts would build anew, under the tests that run on the build.
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', directory];
  const packed = spawnSync('npm', pack, { cwd: root, encoding: 'utf8' });
  t.equal(packed.status, 0, packed.stderr);
  const [{ filename }] = JSON.parse(packed.stdout) as [{ filename: string }];
  t.equal(spawnSync('tar', ['-xf', filename], { cwd: directory }).status, 0);
  const release = join(directory, 'package');

  const used = [...guide.matchAll(/(?<![\w/.])(?:current\/)?((?:ops|build)\/[\w./-]+)/g)];
  const paths = new Set(used.map(([, path = '']) => path));
  t.ok(paths.size >= 4, [...paths].join(' '));
  for (const path of paths) t.ok(existsSync(join(release, path)), path);
  for (const name of ['README.md', 'LICENSE', 'CHANGELOG.md', 'package.json']) {
    t.ok(existsSync(join(release, name)), name);
  }

  const licences = readFileSync(join(release, 'build/bin/LICENSES'), 'utf8');
  t.match(
    licences,
    /^ajv [\d.]+, MIT$/m,
    'of a package whose modules are joined with the command’s',
  );

  symlinkSync(join(root, 'node_modules'), join(release, 'node_modules'));
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    version: string;
  };
  const started = spawnSync(process.execPath, ['build/bin/signalbox.js', 'demo', '--once'], {
    cwd: release,
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  t.equal(started.status, 0, started.stderr);
  const { stdout } = spawnSync(process.execPath, ['build/bin/signalbox.js', '--version'], {
    cwd: release,
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  t.match(stdout, version);
});
