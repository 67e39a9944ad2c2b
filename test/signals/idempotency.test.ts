import t from 'tap';
import { Idempotency, readIdempotencyKey } from '../../src/signals/idempotency.js';
import { createMemoryStore } from '../support/memory-store.js';

const keys: [string, string, number, string | undefined][] = [
  ['one character', 'k', 1, 'k'],
  ['the longest', 'k'.repeat(128), 1, 'k'.repeat(128)],
  ['outer spaces do not count', `  ${'k'.repeat(128)} `, 1, 'k'.repeat(128)],
  ['inner spaces belong to it', 'a b', 1, 'a b'],
  ['bytes above ASCII', 'é😀', 1, 'é😀'],
  ['bytes that are not UTF-8', 'stop-\ufffd-1', 1, undefined],
  ['too long', 'k'.repeat(129), 1, undefined],
  ['counted in UTF-16 units', '😀'.repeat(65), 1, undefined],
  ['missing', '', 0, undefined],
  ['empty', '', 1, undefined],
  ['only spaces', '   ', 1, undefined],
  ['twice', 'k', 2, undefined],
  ['a NUL', 'a\0b', 1, undefined],
  ['a line break', 'a\nb', 1, undefined],
  ['a tab', 'a\tb', 1, undefined],
  ['the unit separator', 'a\x1fb', 1, undefined],
  ['DEL', 'a\x7fb', 1, undefined],
];
for (const [name, value, count, expected] of keys) {
  t.test(`Idempotency-Key: ${name}`, async (t) => {
    t.equal(readIdempotencyKey(value, count, 128), expected);
  });
}

t.test(
  'an operation under way is in progress for its own kind and a conflict for others',
  async (t) => {
    const { look, idempotency } = setUp();
    t.strictSame(look('f'), { kind: 'free' });
    idempotency.begin('u', 'k', 'f');
    t.strictSame(look('f'), { kind: 'request_in_progress' });
    t.strictSame(look('other'), { kind: 'idempotency_conflict' });
  },
);

t.test('in doubt it stays unknown until it is settled; others stay a conflict', async (t) => {
  const { look, idempotency } = setUp();
  idempotency.begin('u', 'k', 'f');
  idempotency.doubt('u', 'k');
  t.strictSame(look('f'), { kind: 'idempotency_outcome_unknown' });
  t.strictSame(look('other'), { kind: 'idempotency_conflict' });
  idempotency.settle('u', 'k');
  t.strictSame(look('f'), { kind: 'free' });
  idempotency.doubt('u', 'k');
  t.strictSame(look('f'), { kind: 'free' }, 'what is not under way cannot be in doubt');
});

t.test('what is stored is replayed until it expires, and is a conflict for others', async (t) => {
  const { look, store } = setUp();
  const record = { fingerprint: 'f', requestId: 'r', answer: '{"a":1}', expiresAt: 1_000 };
  await store.write((batch) => batch.put('idempotency', ['u', 'k'], record));
  t.strictSame(look('f', 999), { kind: 'replay', record });
  t.strictSame(look('g', 999), { kind: 'idempotency_conflict' });
  t.strictSame(look('f', 1_000), { kind: 'free' });
  t.strictSame(look('g', 1_000), { kind: 'free' });
});

t.test('users have keys of their own', async (t) => {
  const { idempotency } = setUp();
  idempotency.begin('u1', 'k', 'f');
  const untouched = (): string => t.fail('a free key asks for no fingerprint') as never;
  t.strictSame(idempotency.lookUp('u2', 'k', untouched, 0), { kind: 'free' });
  t.strictSame(
    idempotency.lookUp('u1', 'K', () => 'f', 0),
    { kind: 'free' },
  );
});

function setUp() {
  const store = createMemoryStore();
  const idempotency = new Idempotency(store);
  const look = (fingerprint: string, now = 0) =>
    idempotency.lookUp('u', 'k', () => fingerprint, now);
  return { store, idempotency, look };
}
