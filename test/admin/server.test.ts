/** The protocol of `admin.sock`, spoken by hand. */
import { once } from 'node:events';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t, { type Test } from 'tap';
import { accountOperations } from '../../src/admin/account-operations.js';
import { converse } from '../../src/admin/conversation.js';
import { keyOperations } from '../../src/admin/key-operations.js';
import { noEffects, type Effects, type Rows } from '../../src/admin/operation.js';
import { noTrail } from '../../src/model/trail-events.js';
import { connectionsMax, lineBytesMax, rowOperationsMax } from '../../src/admin/protocol.js';
import {
  createAdminServer,
  type AdminServer,
  type OperationTable,
} from '../../src/admin/server.js';
import { openSocketPath } from '../../src/admin/socket-path.js';
import { addUser, findUser } from '../../src/auth/accounts.js';
import { type Clock, systemClock } from '../../src/lib/clock.js';
import { createIdSource } from '../../src/lib/ids.js';
import { nextTurn } from '../../src/lib/turn.js';
import { shippedSettings } from '../support/shipped-settings.js';
import { readVersion } from '../../src/version.js';
import { eventually, until } from '../support/eventually.js';
import { createMemoryStore, type MemoryStore } from '../support/memory-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { user } from '../support/simulated-gateway.js';

const version = readVersion();
const ann = 'ann@example.com';

interface Served {
  readonly dataDir: string;
  readonly server: AdminServer;
  readonly store: MemoryStore;
  readonly errors: unknown[];
}

interface Wish {
  readonly dataDir?: string;
  readonly table?: OperationTable;
  readonly effects?: Partial<Effects>;
  readonly clock?: Clock;
}

async function serve(
  t: Test,
  { table, effects, clock = systemClock, ...wish }: Wish = {},
): Promise<Served> {
  const dataDir = wish.dataDir ?? t.testdir();
  const store = createMemoryStore();
  const errors: unknown[] = [];
  const ids = createIdSource(systemClock);
  const server = createAdminServer({
    version,
    context: {
      store,
      clock,
      ids,
      settings: { dataDir, ...shippedSettings },
      effects: { ...noEffects, ...effects },
      trail: noTrail,
      importing: new Set(),
      ending: new Set(),
    },
    onError: (error) => errors.push(error),
    ...(table === undefined ? {} : { table }),
  });
  const now = systemClock.now();
  await addUser(store, ids, {
    email: ann,
    plan: 'basic',
    passwordHash: '$secret',
    confirmed: true,
    now,
  });
  await server.listen();
  t.teardown(() => server.stop());
  return { dataDir, server, store, errors };
}

async function open(t: Test, dataDir: string): Promise<Socket> {
  const { path, close } = openSocketPath(dataDir);
  const socket = connect(path);
  t.teardown(() => socket.destroy());
  await once(socket, 'connect');
  close();
  return socket;
}

/** @returns all lines that come until the gateway ends the connection. */
async function ask(t: Test, dataDir: string, text: string): Promise<any[]> {
  const socket = await open(t, dataDir);
  socket.on('error', () => undefined).write(text);
  const lines = [];
  for await (const line of createInterface({ input: socket })) {
    if (line !== '') lines.push(JSON.parse(line));
  }
  return lines;
}

const line = (operation: string, request: unknown = {}, asked = version): string =>
  `${JSON.stringify({ version: asked, operation, request })}\n`;

function only(run: (rows: Rows) => Promise<object>): OperationTable {
  return {
    operations: { only: { hasRows: true, run: (_context, _request, rows) => run(rows) } },
    isRequest: () => true,
  };
}

t.test('an operation is accepted at once, and answered with its result', async (t) => {
  const { dataDir } = await serve(t);
  t.match(await ask(t, dataDir, line('user.show', { email: ann })), [
    { accepted: true },
    { result: { user: { email: ann }, apiKeys: 0 } },
  ]);
  t.match(await ask(t, dataDir, line('user.show', { email: 'eve' })), [
    { accepted: true },
    { result: { refused: 'user_not_found', email: 'eve' } },
  ]);
  t.notMatch(JSON.stringify(await ask(t, dataDir, line('user.list'))), /secret/, 'no hash leaves');
});

t.test('what is no request is refused before anything happens', async (t) => {
  const { dataDir } = await serve(t);
  const cases: readonly (readonly [string, string])[] = [
    ['not JSON\n', 'invalid_request'],
    ['null\n', 'invalid_request'],
    ['{}\n', 'invalid_request'],
    [line('user.show', { email: 1 }), 'invalid_request'],
    [line('user.show', { email: ann, more: 1 }), 'invalid_request'],
    [line('user.show'), 'invalid_request'],
    [line('no.such'), 'unknown_operation'],
    [line('constructor'), 'unknown_operation'],
    [line('user.show', { email: ann }, '0.0.0-other'), 'other_version'],
    ['x'.repeat(lineBytesMax + 1), 'invalid_request'],
  ];
  for (const [text, code] of cases) {
    t.match(await ask(t, dataDir, text), [{ error: { code } }], text.slice(0, 60));
  }
});

t.test(
  'a request that is cut off is not carried out, a whole one is without its command',
  async (t) => {
    const { dataDir, store } = await serve(t);
    const text = line('user.set', { email: ann, frozen: true });
    const cut = await open(t, dataDir);
    cut.end(text.slice(0, -1));
    await once(cut, 'close');
    t.equal(findUser(store, ann)?.frozen, false);

    const gone = await open(t, dataDir);
    gone.write(text);
    await once(gone, 'data');
    gone.destroy();
    await eventually(() => findUser(store, ann)?.frozen === true);
  },
);

t.test(
  'what is open of a user is looked at once the change is committed, before the result',
  async (t) => {
    const seen: unknown[] = [];
    const served: Served = await serve(t, {
      effects: {
        userChanged: (userId) => seen.push([userId, findUser(served.store, ann)?.frozen]),
        publicApiChanged: async () => void seen.push(served.store.get('switches', 'publicApi')),
      },
    });
    const { dataDir, store } = served;
    const { userId } = findUser(store, ann) as { userId: string };
    await ask(t, dataDir, line('user.set', { email: ann, frozen: true }));
    await ask(t, dataDir, line('session.revoke', { email: ann }));
    await ask(t, dataDir, line('api.set', { enabled: false }));
    await ask(t, dataDir, line('user.delete', { email: ann }));
    await ask(t, dataDir, line('user.delete', { email: ann }));
    t.strictSame(seen, [[userId, true], [userId, true], { enabled: false }, [userId, undefined]]);
  },
);

t.test('the Public API is disabled for the command when what it allowed has ended', async (t) => {
  let hasEnded = false;
  const publicApiChanged = async (): Promise<void> => {
    await nextTurn();
    hasEnded = true;
  };
  const context = { store: createMemoryStore(), effects: { ...noEffects, publicApiChanged } };
  await accountOperations['api.set'].run(context as never, { enabled: false });
  t.ok(hasEnded);
});

t.test('the lists of users and sessions read at once what a turn looks at', async (t) => {
  const memory = createMemoryStore();
  await memory.write((batch) => {
    batch.put('emails', user.email, 'u1');
    for (let n = 0; n < 300; n++) {
      batch.put('users', `u${n}`, { ...user, userId: `u${n}` });
      batch.put('sessions', `s${n}`, { userId: 'u1', generation: 0, createdAt: 0, expiresAt: 1 });
    }
  });
  let reads = 0;
  const store: MemoryStore = {
    ...memory,
    range(collection, range) {
      reads++;
      return memory.range(collection, range);
    },
  };
  const context = { store, clock: systemClock } as never;
  const rows = { send: async () => true } as unknown as Rows;
  await accountOperations['user.list'].run(context, {}, rows);
  t.equal(reads, 2);
  await keyOperations['session.list'].run(context, { email: user.email }, rows);
  t.equal(reads, 2 + 5);
});

t.test('rows go both ways, no faster than the other side takes them', async (t) => {
  let sent = 0;
  const table = only(async (rows) => {
    for (; sent < 5_000; sent++) await rows.send({ number: sent, filler: 'x'.repeat(1_000) });
    const received: unknown[] = [];
    for (let next = await rows.next(); ; next = await rows.next()) {
      if (typeof next === 'string') return { received: received.length, last: next };
      received.push(next.row);
    }
  });
  const { dataDir } = await serve(t, { table });
  let taken = 0;
  let ahead = 0;
  const ending = await converse(
    dataDir,
    'only',
    {},
    {
      rows: Array.from({ length: 3_000 }, (_, i) => ({ i, filler: 'y'.repeat(1_000) })),
      async onRow(row) {
        t.equal((row as { number: number }).number, taken++);
        ahead = Math.max(ahead, sent - taken);
        if (taken % 100 === 0) await new Promise(setImmediate);
      },
    },
  );
  t.same(ending, { how: 'result', result: { received: 3_000, last: 'end' } });
  t.equal(taken, 5_000);
  t.ok(ahead < 2_000, `${ahead} rows of 1 kB were on their way at most`);
});

t.test('a command that still sends rows gets the result of an ended operation', async (t) => {
  const table: OperationTable = {
    operations: { refuse: { run: () => ({ refused: 'leftovers', email: ann }) } },
    isRequest: () => true,
  };
  const { dataDir } = await serve(t, { table });
  const { path, close } = openSocketPath(dataDir);
  const socket = connect(path).pause();
  let failure: unknown;
  socket.on('error', (error) => (failure = error));
  socket.write(`${JSON.stringify({ version, operation: 'refuse', request: {} })}\n`);
  const row = `${JSON.stringify({ row: 'x'.repeat(64_000) })}\n`;
  // Far more than the kernel buffers: it is sent only if the server reads it.
  for (let i = 0; i < 100; i++) socket.write(row);
  await new Promise((resolve) => socket.write('{"end":true}\n', resolve));
  t.equal(failure, undefined);
  const lines: string[] = [];
  for await (const line of createInterface({ input: socket })) lines.push(line);
  t.match(JSON.parse(lines.at(-1) ?? ''), { result: { refused: 'leftovers' } });
  close();
});

t.test('an operation is told when its command goes before its last row', async (t) => {
  let told: unknown;
  const table = only(async (rows) => {
    await rows.next();
    told = await rows.next();
    return { sent: await rows.send('more') };
  });
  const { dataDir, server } = await serve(t, { table });
  const socket = await open(t, dataDir);
  socket.write(`${line('only')}{"row":1}\n`);
  await once(socket, 'data');
  t.equal(server.operationsUnderWay, 1);
  socket.destroy();
  await eventually(() => server.operationsUnderWay === 0);
  t.equal(told, 'lost');
});

t.test(
  'a gateway that is about to end refuses in words, and finishes what is under way',
  async (t) => {
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    const { dataDir, server } = await serve(t, {
      table: only(async () => finished.then(() => ({ done: true }))),
    });
    const underWay = ask(t, dataDir, line('only'));
    await eventually(() => server.operationsUnderWay === 1);
    server.drain();
    t.match(await ask(t, dataDir, line('only')), [{ error: { code: 'draining' } }]);
    finish();
    t.match(await underWay, [{ accepted: true }, { result: { done: true } }]);
    await eventually(() => server.operationsUnderWay === 0);
  },
);

t.test(
  'a fault of an operation is told to the log, and to the command without its details',
  async (t) => {
    const { dataDir, errors } = await serve(t, {
      table: only(() => Promise.reject(new Error('a secret of the code'))),
    });
    const [, last] = await ask(t, dataDir, line('only'));
    t.match(last, { error: { code: 'internal_error' } });
    t.notMatch(JSON.stringify(last), /secret/);
    t.match(errors, [{ message: 'a secret of the code' }]);
  },
);

t.test('a commit that fails is told as such', async (t) => {
  const { dataDir, store } = await serve(t);
  store.failNextCommits(1);
  const [, last] = await ask(t, dataDir, line('api.set', { enabled: false }));
  t.match(last, { error: { code: 'store_failed' } });
});

t.test(
  'the socket is for the owner alone, replaces a stale one, and goes with the server',
  async (t) => {
    const dataDir = t.testdir({ 'admin.sock': 'stale' });
    const umask = process.umask(0);
    t.teardown(() => process.umask(umask));
    const { server } = await serve(t, { dataDir });
    const found = statSync(join(dataDir, 'admin.sock'));
    t.ok(found.isSocket());
    t.equal(found.mode & 0o777, 0o600);
    await server.stop();
    t.notOk(existsSync(join(dataDir, 'admin.sock')));
  },
);

t.test(
  'a directory whose path is longer than the kernel takes for a socket serves as well',
  async (t) => {
    const name = 'd'.repeat(150);
    const dataDir = join(t.testdir({ [name]: {} }), name);
    const { server } = await serve(t, { dataDir });
    t.match(await converse(dataDir, 'user.show', { email: ann }, {}), {
      how: 'result',
      result: { user: { email: ann } },
    });
    await server.stop();
    t.notOk(existsSync(join(dataDir, 'admin.sock')));
  },
);

t.test('a file that was left where nobody listens is no gateway', async (t) => {
  const dataDir = t.testdir();
  t.same(await converse(dataDir, 'user.list', {}, {}), { how: 'absent' });
  writeFileSync(join(dataDir, 'admin.sock'), '');
  t.same(await converse(dataDir, 'user.list', {}, {}), { how: 'absent' });
});

/** A command that is sent a row larger than any socket's buffer, and reads nothing. */
async function unreadRow(t: Test) {
  const clock = new SimulatedClock();
  let sent: Promise<boolean> | undefined;
  const table = only(async (rows) => {
    sent = rows.send('x'.repeat(8 * 1024 * 1024));
    return { isSent: await sent };
  });
  const { dataDir, server } = await serve(t, { table, clock });
  const socket = await open(t, dataDir);
  socket.on('error', () => undefined).write(line('only'));
  await eventually(() => sent !== undefined);
  return { clock, server, socket, sent };
}

t.test('a command that reads nothing for a minute is cut off', async (t) => {
  const { clock, server, sent } = await unreadRow(t);
  clock.advance(62_000);
  t.equal(await sent, false);
  await eventually(() => server.operationsUnderWay === 0);
});

t.test('a halt gets through beside as many stopped commands as the gateway takes', async (t) => {
  const waiting: OperationTable = only(async (rows) => ({ last: await rows.next() }));
  const halt = { run: () => ({ halted: true }) };
  const table = { ...waiting, operations: { ...waiting.operations, halt } };
  const { dataDir, server } = await serve(t, { table });
  const stopped = await Promise.all(Array.from({ length: connectionsMax }, () => open(t, dataDir)));
  for (const socket of stopped) socket.on('error', () => undefined).write(line('only'));
  await eventually(() => server.operationsUnderWay === rowOperationsMax);
  // The commands that were refused a place read that, and end.
  for (const socket of stopped.slice(rowOperationsMax)) socket.resume().end();
  const isTold = (lines: unknown[]) => lines.length > 0;
  t.match(await until(() => ask(t, dataDir, line('halt')).catch(() => []), isTold), [
    { accepted: true },
    { result: { halted: true } },
  ]);
  t.match(await ask(t, dataDir, line('only')), [{ error: { code: 'busy' } }]);
});

t.test('a command that reads again within a minute loses nothing', async (t) => {
  const { clock, socket, sent } = await unreadRow(t);
  clock.advance(58_000);
  let last = '';
  for await (const each of createInterface({ input: socket })) if (each !== '') last = each;
  t.strictSame(JSON.parse(last), { result: { isSent: true } });
  t.equal(await sent, true);
});
