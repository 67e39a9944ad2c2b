/** The rules of the store port, for every implementation: run with a function that opens an empty store. */
import fc from 'fast-check';
import { anExecution } from '../signals/an-execution.js';
import { acceptedSignal } from '../support/accepted-signal.js';
import type { Test } from 'tap';
import type { KeyOf } from '../../src/store/key-layout.js';
import { type Store, WriteRefused } from '../../src/store/store.js';

/** Tries to change the record: a store may return copies, or frozen records, of which the change throws. */
function change(record: unknown, by: object): void {
  try {
    Object.assign(record as object, by);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}

export function storeContract(t: Test, open: (t: Test) => Store): void {
  function rule(name: string, body: (t: Test, store: Store) => Promise<void>): void {
    t.test(name, async (t) => {
      const store = open(t);
      t.teardown(() => store.close());
      await body(t, store);
    });
  }

  rule('a write is not visible before its promise resolves, and is then', async (t, store) => {
    const flushed = store.write((batch) => batch.put('meta', 'a', 1));
    t.equal(store.get('meta', 'a'), undefined);
    t.same(store.range('meta', { start: 'a', end: 'b' }), []);
    await flushed;
    t.equal(store.get('meta', 'a'), 1);
  });

  rule('fill runs at once', async (t, store) => {
    let ran = false;
    const flushed = store.write(() => {
      ran = true;
    });
    t.ok(ran);
    await flushed;
  });

  rule('a write that puts nothing resolves', async (t, store) => {
    await t.resolves(store.write(() => undefined));
  });

  rule('a write that puts nothing resolves after those before it', async (t, store) => {
    const told: string[] = [];
    const earlier = store.write((batch) => batch.put('meta', 'a', 1));
    const nothing = store.write(() => undefined);
    await Promise.all([
      earlier.then(() => told.push('a')),
      nothing.then(() => told.push('nothing')),
    ]);
    t.same(told, ['a', 'nothing']);
  });

  rule('a fill that throws rejects and leaves nothing behind', async (t, store) => {
    const bug = new Error('bug');
    await t.rejects(
      store.write((batch) => {
        batch.put('meta', 'half', 1);
        throw bug;
      }),
      bug,
    );
    await store.write((batch) => batch.put('meta', 'next', 1));
    t.equal(store.get('meta', 'half'), undefined);
    t.equal(store.get('meta', 'next'), 1);
  });

  rule('a write that removes and puts does both', async (t, store) => {
    await store.write((batch) => {
      batch.put('meta', 'a', 1);
      batch.put('meta', 'gone', 1);
    });
    await store.write((batch) => {
      batch.remove('meta', 'gone');
      batch.remove('meta', 'never there');
      batch.put('meta', 'a', 2);
      batch.put('emails', 'a@b.c', 'u');
    });
    t.equal(store.get('meta', 'gone'), undefined);
    t.equal(store.get('meta', 'a'), 2);
    t.equal(store.get('emails', 'a@b.c'), 'u');
  });

  rule('of writes in one turn the last call wins', async (t, store) => {
    const writes = [];
    for (let i = 0; i < 3000; i++) {
      writes.push(store.write((batch) => batch.put('meta', 'a', i)));
    }
    await Promise.all(writes);
    t.equal(store.get('meta', 'a'), 2999);
  });

  rule('many writes under way at once are each whole and all there', async (t, store) => {
    const writes = [];
    for (let i = 0; i < 2000; i++) {
      writes.push(
        store.write((batch) => {
          batch.put('signalIds', ['u', `s${i}`], `r${i}`);
          batch.put('emails', `e${i}`, `u${i}`);
        }),
      );
      if (i % 700 === 0) await new Promise(setImmediate);
    }
    await Promise.all(writes);
    t.equal(store.range('signalIds', { prefix: ['u'] }).length, 2000);
    t.equal(store.range('emails').length, 2000);
  });

  rule('a record comes back as it was', async (t, store) => {
    const { request, execution } = acceptedSignal({
      userId: 'u',
      payload: `{"quantity":1.10,"text":"\\u0000 \u2028 ☃ 𝒳 \ud800","n":12345678901234567890}`,
      signalId: '\ud800\u0000é',
    });
    await store.write((batch) => {
      batch.put('requests', ['u', request.requestId], request);
      batch.put('openExecutions', ['u', execution.executionId], execution);
      batch.put('meta', 'empty', '');
      batch.put('meta', 'zero', 0);
    });
    t.strictSame(store.get('requests', ['u', request.requestId]), request);
    t.strictSame(store.get('openExecutions', ['u', execution.executionId]), execution);
    t.equal(store.get('meta', 'empty'), '');
    t.equal(store.get('meta', 'zero'), 0);
  });

  rule('a large record comes back as it was', async (t, store) => {
    const long = '☃'.repeat(40_000);
    await store.write((batch) => batch.put('meta', 'long', long));
    t.equal(store.get('meta', 'long'), long);
    t.equal(store.range('meta', { start: 'long', limit: 1 })[0]?.record, long);
  });

  rule(
    'a change to a record that was written or read does not change what others read',
    async (t, store) => {
      const { request } = acceptedSignal({ userId: 'u' });
      const key: [string, string] = ['u', request.requestId];
      const flushed = store.write((batch) => batch.put('requests', key, request));
      Object.assign(request, { platform: 'changed after the call' });
      await flushed;
      const read = store.get('requests', key);
      t.not(read?.platform, 'changed after the call');
      change(read, { platform: 'changed by the reader' });
      t.not(store.get('requests', key)?.platform, 'changed by the reader');
      const execution = anExecution('working', { cancelKeys: ['first'] });
      await store.write((batch) => batch.put('openExecutions', ['u', 'e'], execution));
      change(store.get('openExecutions', ['u', 'e'])?.cancelKeys, { 0: 'changed by the reader' });
      t.strictSame(store.get('openExecutions', ['u', 'e'])?.cancelKeys, ['first']);
    },
  );

  rule('keys of 255 units, of any characters, are all different', async (t, store) => {
    const units = ['\0', '\u0001', '\u0004', 'z', 'é', '\ud800', '\udfff', '\uffff', '𝒳'];
    const texts = ['', ...units.flatMap((unit) => [unit, unit.repeat(63), unit.repeat(127)])];
    for (const unit of units) texts.push(`${unit.repeat(64)}\0b`, 'x'.repeat(254) + unit.charAt(0));
    const distinct = [...new Set(texts)];
    await store.write((batch) => {
      for (const text of distinct) batch.put('signalIds', ['u', text], JSON.stringify(text));
    });
    for (const text of distinct) {
      t.equal(store.get('signalIds', ['u', text]), JSON.stringify(text));
    }
    const back = store.range('signalIds', { prefix: ['u'] });
    t.equal(back.length, distinct.length);
    t.ok(back.every(({ key, record }) => JSON.stringify(key[1]) === record));
  });

  rule('an empty part is a part', async (t, store) => {
    const keys: KeyOf<'sources'>[] = [
      ['u', 'p', '', 'a'],
      ['u', 'p', 'i', ''],
      ['u', 'p', '', ''],
      ['u', '', 'p', 'a'],
    ];
    const source = (accountName: string) => ({
      platform: 'p',
      instanceId: '',
      accountName,
      capabilities: [],
      software: { name: 's', version: '1' },
      lastSeq: 0,
      lastSeenAt: 0,
    });
    await store.write((batch) => {
      keys.forEach((key, i) => batch.put('sources', key, source(`${i}`)));
    });
    keys.forEach((key, i) => t.equal(store.get('sources', key)?.accountName, `${i}`));
    t.same(
      store.range('sources', { prefix: ['u', 'p', ''] }).map(({ key }) => key),
      [keys[2], keys[0]],
    );
  });

  rule('a key too long for the store is refused before anything is written', async (t, store) => {
    await t.rejects(
      store.write((batch) => {
        batch.put('meta', 'before', 1);
        batch.put('meta', '☃'.repeat(700), 1);
      }),
      RangeError,
    );
    await store.write((batch) => batch.put('meta', 'after', 1));
    t.equal(store.get('meta', 'before'), undefined);
  });

  rule('numbers sort by value', async (t, store) => {
    const numbers = [0, 1, 2, 9, 10, 255, 256, 65_536, 2 ** 31, 2 ** 32 + 1, 2 ** 53 - 1, -1, 0.5];
    await store.write((batch) => {
      for (const number of numbers) batch.put('apiKeyUses', number, number);
    });
    t.same(
      store.range('apiKeyUses').map(({ key }) => key),
      numbers.toSorted((a, b) => a - b),
    );
    t.same(
      store.range('apiKeyUses', { reverse: true, limit: 1 }).map(({ key }) => key),
      [2 ** 53 - 1],
    );
  });

  t.test('ranges of any keys agree with a plain sorted list', async (t) => {
    const text = fc.oneof(
      fc.string({ maxLength: 4, unit: fc.constantFrom('a', 'b', '\0', '\u0001', 'é', '𝒳') }),
      fc.string({ maxLength: 70, unit: 'binary' }),
    );
    const user = fc.constantFrom('u', 'u\0', 'u\u0001', 'uu', '', 'v');
    const key = fc.tuple(user, text);
    const bounds = fc.record(
      {
        prefix: fc.oneof(fc.tuple(user), key),
        start: key,
        end: key,
        reverse: fc.boolean(),
        limit: fc.integer({ min: 0, max: 5 }),
      },
      { requiredKeys: [] },
    );
    const store = open(t);
    const property = fc.asyncProperty(
      fc.array(key, { maxLength: 12 }),
      fc.array(bounds, { maxLength: 12 }),
      async (keys, ranges) => {
        await store.write((batch) => {
          for (const each of store.keys('signalIds')) batch.remove('signalIds', each);
          for (const each of keys) batch.put('signalIds', each, JSON.stringify(each));
        });
        const sorted = keys
          .toSorted(compare)
          .filter((k, i, all) => i === 0 || compare(k, all[i - 1]!) !== 0);
        for (const range of ranges) {
          const expected = sorted.filter(
            (k) =>
              (range.prefix ?? []).every((part, i) => k[i] === part) &&
              (range.start === undefined ||
                compare(k, range.start) * (range.reverse === true ? -1 : 1) >= 0) &&
              (range.end === undefined ||
                compare(k, range.end) * (range.reverse === true ? -1 : 1) < 0),
          );
          if (range.reverse === true) expected.reverse();
          const found = store.range('signalIds', range);
          const wanted = expected.slice(0, range.limit ?? Infinity);
          const keys = found.map(({ key }) => key);
          if (JSON.stringify(keys) !== JSON.stringify(wanted)) return false;
          if (JSON.stringify(store.keys('signalIds', range)) !== JSON.stringify(keys)) return false;
          if (found.some(({ key, record }) => JSON.stringify(key) !== record)) return false;
        }
        return true;
      },
    );
    try {
      await fc.assert(property, { numRuns: 150, interruptAfterTimeLimit: 20_000 });
    } finally {
      await store.close();
    }
    t.pass('every range was as expected');
  });

  rule('a transaction sees the newest state and its own writes', async (t, store) => {
    await store.write((batch) => batch.put('meta', 'n', 1));
    const before = store.write((batch) => batch.put('meta', 'n', 2));
    const seen = await store.transact((transaction) => {
      const first = transaction.get('meta', 'n');
      transaction.put('meta', 'n', 3);
      transaction.put('meta', 'm', 1);
      transaction.remove('meta', 'm');
      return [
        first,
        transaction.get('meta', 'n'),
        transaction.get('meta', 'm'),
        transaction.range('meta', { start: 'n', end: 'o' }).map(({ record }) => record),
      ];
    });
    await before;
    t.same(seen, [2, 3, undefined, [3]]);
    t.equal(store.get('meta', 'n'), 3);
  });

  rule(
    'the work of a transaction runs at once, also while a commit is under way',
    async (t, store) => {
      const before = store.write((batch) => batch.put('meta', 'n', 1));
      await new Promise(setImmediate);
      let seen: unknown;
      const done = store.transact((transaction) => {
        seen = transaction.get('meta', 'n');
      });
      t.equal(seen, 1);
      await Promise.all([before, done]);
    },
  );

  rule('a transaction that writes nothing waits for what it has read', async (t, store) => {
    const order: string[] = [];
    const written = store
      .write((batch) => batch.put('meta', 'n', 1))
      .then(() => order.push('written'));
    const read = store
      .transact((transaction) => transaction.get('meta', 'n'))
      .then((found) => order.push(`read ${found}`));
    await Promise.all([written, read]);
    t.same(order, ['written', 'read 1']);
    t.equal(await store.transact((transaction) => transaction.get('meta', 'n')), 1);
  });

  rule('a transaction is not visible before its promise resolves', async (t, store) => {
    const done = store.transact((transaction) => {
      transaction.put('meta', 'n', 1);
    });
    t.equal(store.get('meta', 'n'), undefined);
    await done;
    t.equal(store.get('meta', 'n'), 1);
  });

  rule('a throw in a transaction rolls all of it back, and nothing else', async (t, store) => {
    const bug = new Error('bug');
    await store.write((batch) => batch.put('meta', 'kept', 1));
    const write = store.write((batch) => batch.put('meta', 'beside', 1));
    await t.rejects(
      store.transact((transaction) => {
        transaction.put('meta', 'kept', 2);
        transaction.put('meta', 'new', 1);
        throw bug;
      }),
      bug,
    );
    await write;
    t.equal(store.get('meta', 'kept'), 1);
    t.equal(store.get('meta', 'new'), undefined);
    t.equal(store.get('meta', 'beside'), 1);
  });

  rule('the work of a transaction cannot wait', async (t, store) => {
    await t.rejects(
      store.transact(async (transaction) => {
        transaction.put('meta', 'n', 1);
      }),
      { message: /synchronous/ },
    );
    await store.write((batch) => batch.put('meta', 'after', 1));
    t.equal(store.get('meta', 'n'), undefined);
  });

  rule('a write resolves no sooner than those before it', async (t, store) => {
    const resolved: number[] = [];
    const writes = [];
    for (let i = 0; i < 20; i++) {
      writes.push(store.write((batch) => batch.put('meta', 'n', i)).then(() => resolved.push(i)));
      if (i % 3 === 0) await new Promise(setImmediate);
    }
    await Promise.all(writes);
    t.strictSame(resolved, [...writes.keys()]);
  });

  rule('transactions and writes of one turn happen in the order of the calls', async (t, store) => {
    const add = (amount: number) =>
      store.transact((transaction) => {
        transaction.put('meta', 'n', Number(transaction.get('meta', 'n') ?? 0) + amount);
      });
    const set = (value: number) => store.write((batch) => batch.put('meta', 'n', value));
    await Promise.all([set(10), add(1), add(2), set(100), add(5)]);
    t.equal(store.get('meta', 'n'), 105);
    await Promise.all([add(1), set(1)]);
    t.equal(store.get('meta', 'n'), 1);
  });

  rule('no increment by concurrent transactions is lost', async (t, store) => {
    const all = [];
    for (let i = 0; i < 200; i++) {
      all.push(
        store.transact((transaction) => {
          transaction.put('meta', 'n', Number(transaction.get('meta', 'n') ?? 0) + 1);
        }),
        store.write((batch) => batch.put('meta', `w${i}`, i)),
      );
      if (i % 20 === 0) await new Promise(setImmediate);
    }
    await Promise.all(all);
    t.equal(store.get('meta', 'n'), 200);
  });

  rule('a close waits for what is under way, and refuses what comes after', async (t, store) => {
    let flushed = false;
    const write = store
      .write((batch) => batch.put('meta', 'a', 1))
      .then(() => {
        flushed = true;
      });
    const closed = store.close();
    await t.rejects(
      store.write((batch) => batch.put('meta', 'b', 1)),
      WriteRefused,
    );
    await t.rejects(
      store.transact(() => 1),
      WriteRefused,
    );
    t.match(store.refusal(), { name: 'WriteRefused' });
    t.throws(() => store.get('meta', 'a'), WriteRefused);
    t.throws(() => store.range('meta'), WriteRefused);
    await closed;
    t.ok(flushed);
    await write;
    await t.rejects(
      store.write((batch) => batch.put('meta', 'b', 1)),
      WriteRefused,
    );
    t.throws(() => store.get('meta', 'a'), WriteRefused);
    await store.close();
  });

  rule('its size grows with what it holds', async (t, store) => {
    const before = store.sizeBytes();
    await store.write((batch) => batch.put('meta', 'long', 'x'.repeat(500_000)));
    t.ok(store.sizeBytes() >= before + 400_000);
  });
}

type Pair = readonly [string, string];

function compare(a: Pair, b: Pair): number {
  return compareTexts(a[0], b[0]) || compareTexts(a[1], b[1]);
}

/** Compares by code point, as UTF-32 in big-endian bytes: neither implementation does it so. */
function compareTexts(a: string, b: string): number {
  const bytes = (text: string): Buffer => {
    const points = Array.from(text, (character) => character.codePointAt(0) as number);
    const buffer = Buffer.alloc(points.length * 4);
    points.forEach((point, i) => buffer.writeUInt32BE(point, i * 4));
    return buffer;
  };
  return Buffer.compare(bytes(a), bytes(b));
}
