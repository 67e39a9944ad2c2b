import type { RootDatabase } from 'lmdb';
import t from 'tap';
import { stirFreePages } from '../../src/store/free-pages.js';

t.test('each commit is of another size, and leaves nothing', async (t) => {
  const rows = new Set<string>();
  let most = 0;
  const meta = {
    putSync(key: string) {
      rows.add(key);
      most = Math.max(most, rows.size);
    },
    removeSync: (key: string) => rows.delete(key),
  };
  const root = { openDB: () => meta, transactionSync: (work: () => void) => work() };
  const sizes = new Set<number>();
  for (let i = 0; i < 50; i++) {
    most = 0;
    stirFreePages(root as unknown as RootDatabase);
    sizes.add(most);
    t.equal(rows.size, 0);
  }
  t.ok(sizes.size > 5, `${sizes.size} sizes`);
  t.notOk(sizes.has(0));
});
