import t from 'tap';
import { openStore } from '../../src/store/lmdb-store.js';
import { createTextValues } from '../../src/store/text-values.js';

/** ASCII, two, three and four bytes a character, and nothing at all. */
const texts = [
  '{"a":1}',
  'é'.repeat(50),
  '€'.repeat(700),
  '😀'.repeat(9_000),
  '',
  'x'.repeat(70_000),
];

t.test('a text is a part of a block, and what came before it in the block stays', async (t) => {
  const values = createTextValues();
  const written = Array.from({ length: 60 }, (_, index) => {
    const text = texts[index % texts.length] as string;
    const block = values.encode(text);
    return { text, block, start: block.start, end: block.end };
  });
  for (const { text, block, start, end } of written) {
    t.equal(block.byteOffset, 0, 'lmdb adds the start to the address of the memory');
    t.ok(values.decode(block.subarray(start, end)) === text, `${text.length} units`);
  }
  t.ok(new Set(written.map(({ block }) => block)).size > 1, 'more than fit into one block');
});

t.test('texts of one turn that fill many blocks are each whole in the store', async (t) => {
  const store = openStore(t.testdir());
  const write = (key: string, text: string) => store.write((batch) => batch.put('meta', key, text));
  const keys = Array.from({ length: 300 }, (_, index) => `key-${index}`);
  const textOf = (index: number) => `${index} ${texts[index % texts.length]}`;
  await Promise.all(keys.map((key, index) => write(key, textOf(index))));
  keys.forEach((key, index) => t.ok(store.get('meta', key) === textOf(index), key));
  await store.close();
});
