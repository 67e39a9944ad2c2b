/** Loading the settings does not load a native library of the store. */
import { spawnSync } from 'node:child_process';
import t from 'tap';

const settings = new URL('../../src/settings.js', import.meta.url).href;
const store = new URL('../../src/store/lmdb-store.js', import.meta.url).href;

/** @returns the shared objects of Node addons that a process has after the import. */
function addonsAfter(module: string): string[] {
  const program = `await import(${JSON.stringify(module)});
    console.log(JSON.stringify(process.report.getReport().sharedObjects));`;
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '--eval', program],
    { encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '' } },
  );
  if (stdout === '') throw new Error(stderr);
  return (JSON.parse(stdout) as string[]).filter((path) => path.endsWith('.node'));
}

t.test('the settings are loaded without lmdb and without the lock', (t) => {
  t.same(addonsAfter(settings), []);
  t.match(addonsAfter(store), [/lmdb/], 'a library that is loaded is found this way');
  t.end();
});
