/**
 * Groups of tests whose subject rarely changes: what packages do, the store, the benchmarks, generated clients,
 * other people's servers. A group runs unless `test/verified.json` has, for this platform, the fingerprint of what it
 * depends on: the lock file and the group's own folders as they were when it last passed. `npm run test:all`
 * runs every group and writes that record. The folders are read from the working tree, not from git, so that an
 * uncommitted change counts.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiDocument } from './api-document.js';

export interface Group {
  readonly name: string;
  /** What it depends on beside the lock file. */
  readonly folders: readonly string[];
  /** What else it depends on. */
  readonly subject?: () => string;
  /** Its test files, below build/test/. */
  readonly tests: RegExp;
}

export const groups: readonly Group[] = [
  {
    name: 'native',
    folders: ['native-notes', 'test/native'],
    // The notes name files in all of test/, so that their links always have to be checked.
    tests: /^native\/(?!notes\.)/,
  },
  { name: 'bench', folders: ['bench', 'test/bench'], tests: /^bench\// },
  {
    name: 'conformance',
    folders: ['src/conformance', 'test/conformance'],
    // That the reference plugin passes is always tested; that a broken one fails, when a rule changes.
    tests: /^conformance\/faults\./,
  },
  {
    name: 'fix',
    folders: [
      'src/conformance',
      'src/fix',
      'src/plugins',
      'src/terminal',
      'test/conformance',
      'test/fix',
    ],
    tests: /^fix\/(?:fix-conformance|quickfix)\./,
  },
  {
    name: 'prometheus',
    folders: ['ops/grafana', 'ops/prometheus', 'src/telemetry', 'test/ops'],
    tests: /^ops\/prometheus\./,
  },
  {
    name: 'sdk',
    folders: ['src/conformance', 'src/plugins', 'src/sdk', 'test/conformance', 'test/sdk'],
    // At the gateway the plugin base in Python is always tested, by the tests that the one for .NET has.
    tests: /^sdk\/(?:csharp-|python-conformance\.)/,
  },
  {
    name: 'store',
    // The store imports from no other room. Whole processes on it are killed by the programs, in every run.
    folders: ['src/lib', 'src/model', 'src/store', 'test/store'],
    tests: /^store\//,
  },
  {
    name: 'generators',
    folders: ['test/generators'],
    // Made of schemas from all over src/, few of which change it.
    subject: () => JSON.stringify(apiDocument),
    tests: /^generators\//,
  },
];

/** By group and platform, such as `node20-linux-x64`. */
type VerifiedRecord = Partial<Record<string, Partial<Record<string, string>>>>;

const recordPath = 'test/verified.json';

export const platform = `node${process.versions.node.split('.')[0] ?? ''}-${process.platform}-${process.arch}`;

export function groupOf(testFile: string): Group | undefined {
  return groups.find(({ tests }) => tests.test(testFile));
}

/** SHA-256 over the names and contents of the lock file and all files of the group's folders, and its subject. */
export function fingerprintOf(root: string, { folders, subject }: Group): string {
  const hash = createHash('sha256');
  for (const file of ['package-lock.json', ...folders.flatMap((folder) => filesIn(root, folder))]) {
    const content = readFileSync(join(root, file));
    hash.update(`${file}\n${content.length}\n`).update(content);
  }
  if (subject !== undefined) hash.update(subject());
  return hash.digest('hex');
}

function filesIn(root: string, folder: string): string[] {
  return (
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      // The links of a README are tested always, and nothing else depends on it.
      .filter((entry) => entry.isFile() && entry.name !== 'README.md')
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
      // A lock file says what is installed there, if it is.
      .filter((file) => !file.includes('/node_modules/'))
      .sort()
  );
}

export function isVerified(root: string, group: Group): boolean {
  const recorded = readRecord(root)[group.name]?.[platform];
  return recorded !== undefined && recorded === fingerprintOf(root, group);
}

/** Records that the group has passed as it is now; what is recorded of others stays. */
export function recordVerified(root: string, group: Group): void {
  const record = readRecord(root);
  const platforms = { ...record[group.name], [platform]: fingerprintOf(root, group) };
  const text = JSON.stringify(sorted({ ...record, [group.name]: sorted(platforms) }), null, 2);
  writeFileSync(join(root, recordPath), `${text}\n`);
}

function readRecord(root: string): VerifiedRecord {
  const file = join(root, recordPath);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as VerifiedRecord) : {};
}

function sorted<T>(table: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(table).sort(([a], [b]) => (a < b ? -1 : 1)));
}
