import { createHash } from 'node:crypto';
import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import '../support/alone.js';
import { noEffects } from '../../src/admin/operation.js';
import { systemClock } from '../../src/lib/clock.js';
import { executionIdOf, requestIdOf } from '../../src/lib/ids.js';
import { importKeyOf, importPrefix } from '../../src/store/key-layout.js';
import { openStore } from '../../src/store/lmdb-store.js';
import type { Store } from '../../src/store/store.js';
import { discardImport, importUser, type NextRow } from '../../src/transfer/import-user.js';
import { readUserFileHead, readUserRows, type UserFileHead } from '../../src/transfer/user-file.js';
import { aCancel, aFill } from '../signals/an-execution.js';
import { acceptedSignal, putSignal } from '../support/accepted-signal.js';
import { startCommand } from '../support/command.js';
import { eventually } from '../support/eventually.js';
import { addUser, startGateway } from '../support/gateway-process.js';
import { signalboxIn } from '../support/in-process.js';
import { endAfter, poseAsGateway } from '../support/posing-gateway.js';
import { startProgram } from '../support/program.js';

const ann = 'ann@example.com';

interface Move {
  readonly from: string;
  readonly to: string;
  readonly file: string;
  readonly export: (...flags: string[]) => ReturnType<typeof signalboxIn>;
  readonly import: (...flags: string[]) => ReturnType<typeof signalboxIn>;
}

async function aMove(t: Test): Promise<Move> {
  const directory = t.testdir();
  const [from, to, file] = ['from', 'to', 'ann.jsonl'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  await addUser(from, ann);
  return {
    from,
    to,
    file,
    export: (...flags) => signalboxIn(from, ['user', 'export', ann, file, ...flags]),
    import: (...flags) => signalboxIn(to, ['user', 'import', file, ...flags]),
  };
}

async function annIn(dataDir: string): Promise<unknown> {
  return JSON.parse((await signalboxIn(dataDir, ['user', 'show', ann, '--json'])).stdout);
}

/** The rows of a file, as an operation reads them from its command. */
function rowsOf(file: string): NextRow {
  const rows = readUserRows(file);
  return () => {
    const next = rows.next();
    return Promise.resolve(next.done === true ? 'end' : { row: next.value });
  };
}

/** Writes these lines as a whole file, whose last line fits them. */
function writeWhole(file: string, lines: readonly string[]): void {
  const text = lines.map((line) => `${line}\n`).join('');
  const sha256 = createHash('sha256').update(text).digest('hex');
  writeFileSync(file, `${text}${JSON.stringify({ rows: lines.length - 1, sha256 })}\n`);
}

t.test('export says what is next, and import what is there', async (t) => {
  const move = await aMove(t);
  const exported = await move.export('--freeze');
  t.match(exported, {
    code: 0,
    stdout: /1 records\. Now run "signalbox user import".*user delete/,
  });
  t.equal(statSync(move.file).mode & 0o777, 0o600);
  t.match((await signalboxIn(move.from, ['user', 'show', ann])).stdout, /moving +exported to move/);
  t.match(await annIn(move.from), { moving: true });
  t.match(await move.import(), { code: 0, stdout: /ann@example.com is here, with 1 records/ });
  t.match(await annIn(move.to), {
    frozen: false,
    confirmed: true,
  });
});

t.test('a user that was frozen or unconfirmed before its move is so after it', async (t) => {
  const move = await aMove(t);
  await signalboxIn(move.from, ['user', 'set', ann, '--frozen', 'true', '--confirmed', 'false']);
  t.equal((await move.export('--freeze')).code, 0);
  await move.import();
  t.match(await annIn(move.to), {
    frozen: true,
    confirmed: false,
  });
});

t.test('an export can be made again, and taken back', async (t) => {
  const move = await aMove(t);
  await move.export('--freeze');
  const again = `${move.file}.again`;
  t.equal((await signalboxIn(move.from, ['user', 'export', ann, again, '--freeze'])).code, 0);
  const rows = (path: string) => readFileSync(path, 'utf8').split('\n').slice(1, -2);
  t.same(rows(again), rows(move.file));
  await signalboxIn(move.from, ['user', 'set', ann, '--frozen', 'false']);
  t.match(await annIn(move.from), {
    frozen: false,
    confirmed: true,
    moving: false,
  });
});

t.test('a user that is frozen or unconfirmed while it moves is so after it', async (t) => {
  const move = await aMove(t);
  await move.export('--freeze');
  const set = (...flags: string[]) => signalboxIn(move.from, ['user', 'set', ann, ...flags]);
  t.match(await set('--frozen', 'true', '--confirmed', 'false'), {
    code: 0,
    stdout: /is changed: frozen, not confirmed\. The user is being moved: .*export the user again/,
  });
  rmSync(move.file);
  t.equal((await move.export('--freeze')).code, 0);
  await move.import();
  t.match(await annIn(move.to), {
    frozen: true,
    confirmed: false,
  });
  t.match((await set('--frozen', 'false')).stdout, /no longer being moved, but still frozen/);
  t.match(await annIn(move.from), { frozen: true, confirmed: false });
  t.match((await set('--frozen', 'false')).stdout, /is changed: not frozen\.$/m);
  t.match(await annIn(move.from), { frozen: false, confirmed: false });
});

t.test('a change of keys or sessions that a file lacks says so', async (t) => {
  const move = await aMove(t);
  const run = async (...words: string[]) => (await signalboxIn(move.from, words)).stdout;
  const adding = ['key', 'add', ann, '--name', 'bot', '--scopes', 'signals:read'];
  const lacking = / The user is being moved: a file exported before does not have this change/;
  t.notMatch(await run(...adding), lacking);
  await move.export('--freeze');
  t.match(await run(...adding), lacking);
  t.match(await run('key', 'revoke', '1'), lacking);
  t.match(await run('session', 'revoke', ann), lacking);
  const { revoked, id, ...rest } = JSON.parse(await run('key', 'revoke', '2', '--json')) as Record<
    string,
    unknown
  >;
  t.strictSame({ revoked, id }, { revoked: true, id: 2 });
  t.strictSame(Object.keys(rest), ['userId', 'email'], 'as ever for programs');
});

t.test('what export cannot do is refused in words', async (t) => {
  const move = await aMove(t);
  writeFileSync(move.file, 'mine');
  t.match(await move.export('--freeze'), {
    code: 1,
    stderr: /already, and nothing is ever overwritten/,
  });
  t.equal(readFileSync(move.file, 'utf8'), 'mine');
  t.notMatch(
    (await signalboxIn(move.from, ['user', 'show', ann])).stdout,
    /moving/,
    'nor was it frozen',
  );
  const nobody = ['user', 'export', 'eve@example.com', `${move.file}.2`];
  t.match(await signalboxIn(move.from, nobody), { code: 1, stderr: /no user "eve@example.com"/ });
  const nowhere = ['user', 'export', ann, join(move.file, 'below'), '--freeze'];
  t.match(await signalboxIn(move.from, nowhere), {
    code: 1,
    stderr: /cannot be written: .*Give a path on a disk/,
  });
  t.notMatch((await signalboxIn(move.from, ['user', 'show', ann])).stdout, /moving/, 'nor then');
  // A dangling link stands for a file that another export makes meanwhile: the first look does not see it.
  rmSync(move.file);
  symlinkSync('nowhere', move.file);
  t.match(await move.export('--freeze'), {
    code: 1,
    stderr:
      /already, and nothing is ever overwritten\. Give another name\. The user is frozen; .*--frozen false/,
  });
});

t.test(
  'an export that is interrupted leaves no file, and tells how the user goes on',
  async (t) => {
    const { from, file } = await aMove(t);
    const gateway = await startGateway({ dataDir: from });
    t.teardown(() => gateway.kill());
    // The command waits for the suspended gateway.
    gateway.process.kill('SIGSTOP');
    const command = startCommand(['user', 'export', ann, file, '--freeze', '--data-dir', from]);
    const files = () => readdirSync(dirname(file)).filter((name) => name.startsWith('ann.jsonl'));
    await eventually(() => files().length > 0);
    command.process.kill('SIGINT');
    const { code, stderr } = await command.ended;
    t.equal(code, null, 'ended by the signal');
    t.match(stderr, /^Nothing was written\. The user may be frozen; .*--frozen false" resumes/);
    t.strictSame(files(), []);
  },
);

t.test(
  'an export whose gateway ends says that there is no file, and how the user goes on',
  async (t) => {
    const move = await aMove(t);
    await poseAsGateway(t, move.from, endAfter({ accepted: true }));
    t.match(await move.export('--freeze'), {
      code: 1,
      stderr:
        /in effect, .* No file was written\. The user may be frozen; .*--frozen false" resumes/,
    });
    const { stderr } = await move.export();
    t.match(stderr, /No file was written\.\n$/);
    t.notOk(existsSync(move.file));
  },
);

t.test('what is no whole file of an export is refused before anything is made', async (t) => {
  const move = await aMove(t);
  t.match(
    await move.import(),
    { code: 1, stderr: /cannot be read: ENOENT: .* may read/ },
    'missing',
  );
  await move.export('--freeze');
  const whole = readFileSync(move.file, 'utf8');
  const lines = whole.split('\n');
  const faults: readonly (readonly [string, RegExp])[] = [
    ['', /is not a file of/],
    ['not JSON\n', /is not a file of/],
    ['{"a":1}\n', /is not a file of/],
    [whole.replace('"signalbox-user":1', '"signalbox-user":2'), /another version/],
    [whole.replace('"storeFormat":1', '"storeFormat":9'), /another version/],
    [whole.slice(0, -10), /cut off or was changed/],
    [`${lines.slice(0, 2).join('\n')}\n`, /cut off or was changed/],
    [`${lines[0] as string}\n`, /cut off or was changed/],
    [whole.replace('"plan":"business"', '"plan":"basic"'), /cut off or was changed/],
    [`${whole}{}\n`, /cut off or was changed/],
  ];
  for (const [text, said] of faults) {
    writeFileSync(move.file, text);
    t.match(await move.import(), { code: 1, stderr: said }, text.slice(0, 60));
  }
  t.notOk(existsSync(move.to), 'not even the data directory');
});

t.test('a file of which a record is none is refused with its line', async (t) => {
  const move = await aMove(t);
  const source = openStore(move.from);
  const userId = source.get('emails', ann) as string;
  const signal = acceptedSignal({ userId });
  const { executionId, requestId } = signal.execution;
  const cancel = aCancel('dispatched', { keyId: 1 });
  await source.write((batch) => {
    putSignal(batch, { ...signal, execution: { ...signal.execution, cancel } });
    batch.put('cancelKeys', [userId, '01'], 'a key');
    batch.put('cancelAlls', [userId, 'cal_01'], {
      cause: 'cancelled_by_api',
      requestedAt: 1,
      trail: {},
      orders: [executionId],
    });
    batch.put('fills', [userId, executionId, '00000000'], aFill('f1', 1));
    batch.put('unknownOrders', [userId, executionId], 1);
    batch.put('sources', [userId, 'terminal_a', 'desk-1', 'Sim101'], {
      platform: 'terminal_a',
      instanceId: 'desk-1',
      accountName: 'Sim101',
      capabilities: ['submit'],
      software: { name: 'a', version: '1' },
      lastSeq: 0,
      lastSeenAt: 1,
    });
    batch.put('apiKeyUses', 1, 1);
    batch.put('sessions', 'a hash', { userId, generation: 1, createdAt: 1, expiresAt: 2 });
  });
  await source.close();
  const key = ['key', 'add', ann, '--name', 'n', '--scopes', 'signals:write'];
  await signalboxIn(move.from, [...key, '--limits', '{"maxOpenOrders":1}']);
  t.equal((await move.export('--freeze')).code, 0);
  const lines = readFileSync(move.file, 'utf8').trimEnd().split('\n').slice(0, -1);

  const forgeries: readonly (readonly [row: string, from: string, to: string])[] = [
    ['isMove', '"email":"ann@example.com"', '"email":7'],
    ['isMove', '"email":"ann@example.com"', '"email":"ann@example.com\\u001b[2J"'],
    ['isMove', '"email":"ann@example.com"', '"email":"ann@example.com\\nUser ann is here."'],
    ['isMove', `"userId":"${userId}"`, `"userId":"${'u'.repeat(1_970)}"`],
    ['"requests"', '"executionCount":1', '"executionCount":100000000'],
    ['"requests"', '"acceptedAt":', '"acceptedAt":1e300,"was":'],
    ['"requests"', `"requestId":"${requestId}"`, '"requestId":"req_x"'],
    ['"signalIds"', `"record":"${requestId}"`, '"record":null'],
    ['"signalIds"', `"key":["${userId}","`, `"key":["${userId}","${'s'.repeat(2_000)}`],
    ['"idempotency"', '"expiresAt":', '"expiresAt":"soon","was":'],
    ['"openExecutions"', '"status":"queued"', '"status":"flying"'],
    ['"openExecutions"', '"status":"dispatched"', '"status":"flying"'],
    ['"openExecutions"', '"keyId":1', '"keyId":-1'],
    ['"openExecutions"', '"maySend":false,', ''],
    ['"openExecutions"', '"executionId":"', '"executionId":"x'],
    ['"cancelAlls"', '"requestedAt":1', '"requestedAt":null'],
    ['"collection":"fills"', '"price":100', '"price":"100"'],
    ['"collection":"fills"', ',"00000000"]', ']'],
    ['"unknownOrders"', '"record":1', '"record":-1'],
    ['"sources"', '"platform":"terminal_a"', '"platform":"terminal_b"'],
    ['"sources"', '"instanceId":"desk-1"', '"instanceId":"desk-2"'],
    ['"sources"', '"accountName":"Sim101"', '"accountName":"Sim102"'],
    ['"users"', `"key":"${userId}"`, '"key":"usr_bob"'],
    ['"users"', '"email":"ann@example.com"', '"email":"bob@example.com"'],
    ['"users"', '"plan":"business"', '"plan":"none"'],
    ['"users"', '"tokenGeneration":', '"tokenGeneration":true,"was":'],
    ['"users"', '"passwordHash":"$argon2id$', '"passwordHash":"$argon2i$'],
    ['"users"', '$m=19456,', '$m=4194304,'],
    ['"apiKeys"', `"userId":"${userId}"`, '"userId":"usr_bob"'],
    ['"apiKeys"', '"id":1', '"id":-1'],
    ['"apiKeys"', '"maxOpenOrders":1', '"maxOpenOrders":"1"'],
    ['"apiKeyUses"', '"key":1', '"key":-1'],
    ['"sessions"', '"key":"a hash"', `"key":"${'h'.repeat(2_000)}"`],
    ['"sessions"', '"expiresAt":2', '"expiresAt":[]'],
    ['"sessions"', '"collection":"sessions"', '"collection":"switches"'],
    ['"sessions"', '{', '['],
  ];
  for (const [row, from, to] of forgeries) {
    const at = lines.findIndex((each) => each.includes(row));
    const line = lines[at] ?? '';
    t.ok(line.includes(from), `${row} has ${from}`);
    writeWhole(move.file, lines.with(at, line.replace(from, to)));
    const said = new RegExp(`^Line ${at + 1} of .*nothing was imported`);
    const imported = await move.import();
    t.match(imported, { code: 1, stderr: said }, `${row}: ${to.slice(0, 60)}`);
    t.notMatch(imported.stderr, /\u001b/, 'and cannot write to the screen');
  }
  writeWhole(
    move.file,
    lines.filter((line) => !line.includes('"collection":"users"')),
  );
  t.match(await move.import(), { code: 1, stderr: /^Line 1 of / }, 'the head of no user');
  t.notOk(existsSync(move.to), 'not even the data directory');

  writeWhole(move.file, lines);
  t.match(await move.import(), { code: 0 }, 'as it was exported, it is imported');
  const { stdout } = await signalboxIn(move.to, ['key', 'list', ann, '--json']);
  t.match(JSON.parse(stdout), [{ lastUsedAt: '1970-01-01T00:00:00.001Z' }]);
});

t.test('a copy of a user that went on is refused', async (t) => {
  const move = await aMove(t);
  t.match(await move.export(), {
    code: 0,
    stdout: /stays here as it is; to move it, export it with --freeze/,
  });
  t.match(await move.import(), { code: 1, stderr: /two gateways would act for one user/ });
});

t.test('a user that is there already, by email or by itself, is never merged', async (t) => {
  const move = await aMove(t);
  await move.export('--freeze');
  t.equal((await move.import()).code, 0);
  t.match(await move.import(), {
    code: 1,
    stderr:
      /the file of ann@example.com was imported before, or it was exported here\. .*nothing was changed/,
  });
  await signalboxIn(move.to, ['user', 'delete', ann]);
  await addUser(move.to, 'Ann@Example.com');
  t.match(await move.import(), { code: 1, stderr: /There is a user ann@example.com here already/ });
});

t.test('a file that is removed while it is imported is named', async (t) => {
  const move = await aMove(t);
  await move.export('--freeze');
  await addUser(move.to, 'bob@example.com');
  await poseAsGateway(t, move.to, (socket) => {
    rmSync(move.file);
    socket.write('{"accepted":true}\n');
  });
  t.match(await move.import(), { code: 1, stderr: /^The file .* cannot be read: ENOENT/ });
});

t.test('a plan that is not there is named', async (t) => {
  const move = await aMove(t);
  const config = `${move.file}.json`;
  const gold = { publicApi: true, signalsPerMinute: 1, signalsPerDay: 1 };
  writeFileSync(config, JSON.stringify({ plans: { gold } }));
  await signalboxIn(move.from, ['user', 'set', ann, '--plan', 'gold', '--config', config]);
  await move.export('--freeze');
  t.match(await move.import(), { code: 1, stderr: /There is no plan "gold"/ });
  t.equal((await move.import('--config', config)).code, 0);
});

t.test('while the same user is imported already, nothing is touched', async (t) => {
  const move = await aMove(t);
  await move.export('--freeze');
  await addUser(move.to, 'bob@example.com');
  const head = readUserFileHead(move.file) as UserFileHead;
  const user = { ...head, keyIds: [] };
  const store = openStore(move.to);
  const importing = new Set([head.userId]);
  const deps = { store, clock: systemClock, effects: noEffects, importing };
  t.equal(await importUser(deps, user, rowsOf(move.file)), 'import_under_way');
  t.equal(await discardImport(deps, head.userId), 'import_under_way');
  t.same(store.keys('meta', { start: importPrefix, end: `${importPrefix}~` }), []);
  importing.clear();
  t.equal(await importUser(deps, user, rowsOf(move.file)), 1);
  t.equal(importing.size, 0);
  await store.close();
});

t.test('an import that is cut off is seen, hides its user, and is done again whole', async (t) => {
  const move = await aMove(t);
  const source = openStore(move.from);
  const userId = source.get('emails', ann) as string;
  const count = 4_000;
  for (let i = 0; i < count;) {
    await source.write((batch) => {
      for (let n = 0; n < 500; n++, i++) {
        const requestId = requestIdOf(`01${String(i).padStart(24, '0')}`);
        const { request, execution } = acceptedSignal({ userId });
        const executionId = executionIdOf(requestId, 0);
        const signalId = `signal-${i}\u2028\ud800`;
        batch.put('requests', [userId, requestId], { ...request, requestId, signalId });
        batch.put('signalIds', [userId, signalId], requestId);
        batch.put('finalExecutions', [userId, executionId], {
          ...execution,
          executionId,
          requestId,
          status: 'denied',
        });
      }
    });
  }
  await source.close();
  t.equal((await move.export('--freeze')).code, 0);

  await addUser(move.to, 'bob@example.com');
  async function look<T>(work: (store: Store) => T): Promise<T> {
    const store = openStore(move.to);
    const found = work(store);
    await store.close();
    return found;
  }
  const rows = (): Promise<number> =>
    look((store) => store.keys('requests', { prefix: [userId] }).length);
  const program = startProgram(t, 'cli/stalled-import', [move.to, move.file, `${count / 2}`]);
  t.equal(await program.next(), 'stalled');
  await program.kill();
  const left = await rows();
  t.ok(left > 100 && left < count, `${left} of ${count} signals were there`);
  t.not(await look((store) => store.get('meta', importKeyOf(userId))), undefined);
  t.match(await signalboxIn(move.to, ['user', 'show', ann]), { code: 1, stderr: /no user/ });
  const doctor = await signalboxIn(move.to, ['doctor', '--port', '0', '--ops-port', '0']);
  t.match(doctor, { code: 0, stdout: /^warning +store +The import of user usr_\w+ was cut off/m });

  t.match(await move.import('--discard'), { code: 0, stdout: /left are removed/ });
  t.equal(await rows(), 0);
  t.match(await move.import('--discard'), {
    code: 1,
    stderr: /There is no import of ann@example.com here that was cut off/,
  });

  const again = startCommand(['user', 'import', move.file, '--data-dir', move.to]);
  await eventually(() =>
    readFileSync(join(move.to, 'gateway.lock'), 'utf8').includes(`${again.process.pid as number} `),
  );
  again.process.kill('SIGKILL');
  await again.ended;
  t.match(await move.import(), { code: 0, stdout: new RegExp(`with ${3 * count + 1} records`) });
  t.equal(await rows(), count);
  t.equal(
    await look((store) => store.get('signalIds', [userId, 'signal-7\u2028\ud800'])),
    requestIdOf(`01${'7'.padStart(24, '0')}`),
  );
  t.equal(await look((store) => store.get('meta', importKeyOf(userId))), undefined);
  const well = await signalboxIn(move.to, ['doctor', '--port', '0', '--ops-port', '0']);
  t.match(well.stdout, /^ok +store /m);
});
