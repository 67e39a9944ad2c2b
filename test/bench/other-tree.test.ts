import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t, { type Test } from 'tap';
import { openOtherTree } from '../../bench/measure/other-tree.js';

/** A repository of one source file, whose packages are those of this tree. */
function repository(t: Test): {
  root: string;
  git: (...args: string[]) => string;
  write: (value: string) => void;
} {
  const root = join(t.testdir(), 'repository');
  mkdirSync(join(root, 'src'), { recursive: true });
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  writeFileSync(join(root, '.gitignore'), 'node_modules\nbuild\n');
  const scripts = { build: 'node node_modules/typescript-7/bin/tsc --project tsconfig.json' };
  writeFileSync(join(root, 'package.json'), JSON.stringify({ type: 'module', scripts }));
  writeFileSync(join(root, 'package-lock.json'), '{"lockfileVersion":3,"packages":{}}');
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2022',
    rootDir: '.',
    outDir: 'build',
    types: [],
    skipLibCheck: true,
  };
  writeFileSync(join(root, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['src'] }));
  symlinkSync(join(process.cwd(), 'node_modules'), join(root, 'node_modules'));
  const write = (value: string): void =>
    writeFileSync(join(root, 'src', 'product.ts'), `export const value = ${value};\n`);
  git('init', '--quiet');
  return { root, git, write };
}

t.test(
  'the other tree is that commit, built beside this one, and is gone afterwards',
  async (t) => {
    const { root, git, write } = repository(t);
    write("'old'");
    git('add', '.');
    git('commit', '--quiet', '-m', 'old');
    write("'new'");
    const other = openOtherTree({ root, label: 'this tree' }, 'HEAD');
    const { product } = other;
    const built = pathToFileURL(join(product.root, 'build', 'src', 'product.js')).href;
    t.match(await import(built), { value: 'old' });
    t.match(product.label, /^HEAD \([0-9a-f]{7}\)$/);
    t.match(
      readFileSync(join(root, 'src', 'product.ts'), 'utf8'),
      /new/,
      'what is not committed stays',
    );
    other.remove();
    t.notOk(existsSync(product.root));
    t.equal(git('worktree', 'list').trim().split('\n').length, 1);
    t.ok(existsSync(join(root, 'node_modules', 'typescript')), 'the packages were only linked');
  },
);

t.test('a commit that does not build is refused, and nothing is left of it', async (t) => {
  const { root, git, write } = repository(t);
  write('nothing known');
  git('add', '.');
  git('commit', '--quiet', '-m', 'broken');
  t.throws(() => openOtherTree({ root, label: 'this tree' }, 'HEAD'));
  t.equal(git('worktree', 'list').trim().split('\n').length, 1);
});

t.test('what is no commit is refused', async (t) => {
  const { root } = repository(t);
  t.throws(() => openOtherTree({ root, label: 'this tree' }, 'no-such-branch'));
});
