/** Closes the store while a copy of it is being made, or while the copy waits for the index. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { dataFile } from '../../src/store/data-directory.js';
import { openStore } from '../../src/store/lmdb-store.js';
import { eventually } from '../support/eventually.js';

const [directory, copy, when] = process.argv.slice(2) as [string, string, 'copying' | 'waiting'];

/** Enough for lmdb to be at work when the store is closed. */
const rows = 400;
const rowBytes = 100_000;

let store = openStore(directory);
for (let i = 0; i < rows; i++) {
  await store.write((batch) => batch.put('emails', `${i}`, 'u'.repeat(rowBytes)));
}
if (when === 'copying') {
  await store.close();
  // A store that is opened anew has nothing that its close would have to wait for.
  store = openStore(directory);
}
const made = store.backup(copy).then(
  () => 'made',
  (error: unknown) => (error as Error).message,
);
const begun = (): boolean =>
  (statSync(join(copy, dataFile), { throwIfNoEntry: false })?.size ?? 0) > 0;
if (when === 'copying') await eventually(begun);
await store.close();
console.log(await made);
