/**
 * Joins the modules of the command, and the packages that they use, in a few files in build/bin: Node takes more
 * than half a second of processor time to find and read nine hundred. The licences of those packages go with them.
 */
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

const outdir = 'build/bin';

/** Packages that find files of their own beside their modules. */
const external = [
  '@node-rs/argon2',
  'fs-native-extensions',
  'koffi',
  'lmdb',
  'pino',
  'piscina',
  'uWebSockets.js',
];

const { metafile } = await build({
  entryPoints: [
    'src/cli/signalbox.ts',
    // Threads and processes: what starts them looks for these names beside itself.
    'src/doctor/store-examiner.ts',
    'src/retention/sweeper.ts',
    'src/store/index-thread.worker.ts',
    'src/workers/hash-worker.ts',
  ],
  entryNames: '[name]',
  outdir,
  bundle: true,
  splitting: true,
  metafile: true,
  sourcemap: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  external,
  // Packages in CommonJS require modules of Node.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module';\nconst require = requireFrom(import.meta.url);",
  },
});
chmodSync(`${outdir}/signalbox.js`, 0o755);
const licences = `${outdir}/LICENSES`;
writeFileSync(licences, licencesOf(Object.keys(metafile.inputs)));
// Not before: a process that starts meanwhile would find nothing.
for (const file of readdirSync(outdir).map((name) => `${outdir}/${name}`)) {
  if (file !== licences && metafile.outputs[file] === undefined) rmSync(file);
}

/** The licence of each package that one of the files belongs to. */
function licencesOf(files) {
  const folders = files.map((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0]);
  return [...new Set(folders)]
    .filter((folder) => folder !== undefined)
    .sort()
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json')));
      const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
      const text = file === undefined ? '' : readFileSync(join(folder, file), 'utf8');
      return `${name} ${version}, ${license}\n\n${text.trim()}\n`;
    })
    .join('\n---\n\n');
}
