/** Who carries a command out: the gateway of the directory, or the command itself, and never both. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { perform } from '../../src/admin/client.js';
import { converse } from '../../src/admin/conversation.js';
import { noEffects } from '../../src/admin/operation.js';
import { noTrail } from '../../src/model/trail-events.js';
import { silenceMs } from '../../src/admin/protocol.js';
import { openSocketPath } from '../../src/admin/socket-path.js';
import { createAdminServer } from '../../src/admin/server.js';
import { systemClock } from '../../src/lib/clock.js';
import { createIdSource } from '../../src/lib/ids.js';
import { shippedSettings } from '../support/shipped-settings.js';
import { gatewayOn, lockDirectory } from '../../src/store/directory-lock.js';
import { openStore } from '../../src/store/lmdb-store.js';
import { dataDirOf } from '../support/gateway.js';
import { startGateway } from '../support/gateway-process.js';
import { eventually } from '../support/eventually.js';
import { runInProcess } from '../support/in-process.js';
import { directoryOfNobody, nobody, noOtherOwner } from '../support/other-user.js';
import { endAfter, poseAsGateway } from '../support/posing-gateway.js';
import { startProgram } from '../support/program.js';
import { addUsers } from '../support/users.js';

const ann = 'ann@example.com';
const newUser = { email: ann, plan: 'basic', passwordHash: '$', confirmed: true };

async function aDirectory(t: Test): Promise<string> {
  const dataDir = dataDirOf(t);
  await addUsers(dataDir, [ann]);
  return dataDir;
}

t.test('without a gateway a command does it itself, and gives the directory back', async (t) => {
  const dataDir = dataDirOf(t);
  t.match(await perform({ dataDir, ...shippedSettings }, 'user.add', newUser), {
    user: { email: ann },
  });
  const rows: unknown[] = [];
  const onRow = (row: unknown): void => void rows.push(row);
  t.same(await perform({ dataDir, ...shippedSettings }, 'user.list', {}, { onRow }), { count: 1 });
  t.match(rows, [{ email: ann }]);
  t.notMatch(JSON.stringify(rows), /passwordHash/);
  (await lockDirectory(dataDir, 'gateway')).release();
  t.notOk(existsSync(join(dataDir, 'admin.sock')));
});

t.test('a plan that is not known is refused before a directory is made', async (t) => {
  const dataDir = dataDirOf(t);
  const request = { ...newUser, plan: 'gold' };
  t.same(await perform({ dataDir, ...shippedSettings }, 'user.add', request), {
    refused: 'unknown_plan',
    plan: 'gold',
    known: ['basic', 'business'],
  });
  t.notOk(existsSync(dataDir));
});

t.test('a command waits for another one, and then does its work', async (t) => {
  const dataDir = await aDirectory(t);
  const other = startProgram(t, 'store/lock-holder', [dataDir, 'command']);
  await other.next();
  const performing = perform({ dataDir, ...shippedSettings }, 'user.show', { email: ann });
  await new Promise((resolve) => setTimeout(resolve, 100));
  await other.kill();
  t.match(await performing, { user: { email: ann } });
});

t.test('commands on one directory at the same time all do their work', async (t) => {
  const dataDir = await aDirectory(t);
  const emails = Array.from({ length: 12 }, (_, i) => `user-${i}@example.com`);
  // A command that finds the directory in use for ten seconds says so; the operator then repeats it.
  const add = async (email: string) => {
    const result = await perform({ dataDir, ...shippedSettings }, 'user.add', {
      ...newUser,
      email,
    });
    if ('user' in result) return true;
    t.match(result, { refused: 'not_performed', code: 'data_directory_busy' });
    return false;
  };
  await Promise.all(emails.map((email) => eventually(() => add(email), 240_000)));
  t.same(await perform({ dataDir, ...shippedSettings }, 'user.list', {}), { count: 13 });
});

t.test('who does not give the directory free in time is named with its process', async (t) => {
  const busy = await aDirectory(t);
  const starting = `${busy}-starting`;
  const full = `${busy}-full`;
  for (const directory of [starting, full]) await addUsers(directory, [ann]);
  const command = startProgram(t, 'store/lock-holder', [busy, 'command']);
  const gateway = startProgram(t, 'store/lock-holder', [starting, 'gateway']);
  const fullGateway = startProgram(t, 'store/lock-holder', [full, 'gateway']);
  const [commandPid, gatewayPid] = [await command.next(), await gateway.next()];
  const fullPid = await fullGateway.next();
  // Closes each connection, as happens to one for which no descriptor is free.
  const { path, close } = openSocketPath(full);
  const closing = createServer((socket) => socket.destroy()).listen(path);
  t.teardown(() => closing.close(close));
  const list = (dataDir: string) => runInProcess(['user', 'list', '--data-dir', dataDir]);
  const [first, second, third] = await Promise.all([list(busy), list(starting), list(full)]);
  t.match(first, {
    code: 1,
    stdout: '',
    stderr: new RegExp(`in use by another command \\(process ${commandPid}\\)`),
  });
  t.match(second, {
    code: 1,
    stdout: '',
    stderr: new RegExp(`\\(process ${gatewayPid}\\) takes no commands: it has been starting`),
  });
  t.match(third, {
    code: 1,
    stdout: '',
    stderr: new RegExp(
      `\\(process ${fullPid}\\) takes no commands: .* open files \\(LimitNOFILE\\), or 64 other commands`,
    ),
  });
});

t.test('a gateway of another version is told by both versions, and does nothing', async (t) => {
  const dataDir = await aDirectory(t);
  const lock = await lockDirectory(dataDir, 'gateway');
  const store = openStore(dataDir);
  const server = createAdminServer({
    version: '9.9.9',
    context: {
      store,
      clock: systemClock,
      ids: createIdSource(systemClock),
      settings: { dataDir, ...shippedSettings },
      effects: noEffects,
      trail: noTrail,
      importing: new Set(),
      ending: new Set(),
    },
    onError: (error) => t.fail(String(error)),
  });
  await server.listen();
  const { code, stderr } = await runInProcess(['user', 'delete', ann, '--data-dir', dataDir]);
  t.equal(code, 1);
  t.match(stderr, /another version than this command.* has version 9\.9\.9, not 0\.1\.0\. Run/);
  t.ok(store.get('emails', ann));
  await server.stop();
  await store.close();
  lock.release();
});

t.test('a suspended gateway is named within seconds, and does nothing later', async (t) => {
  const dataDir = await aDirectory(t);
  const gateway = await startGateway({ dataDir });
  t.teardown(() => gateway.kill());
  const pid = gatewayOn(dataDir);
  gateway.process.kill('SIGSTOP');
  const startedAt = performance.now();
  const { code, stderr } = await runInProcess(['user', 'delete', ann, '--data-dir', dataDir]);
  const seconds = (performance.now() - startedAt) / 1000;
  t.equal(code, 1);
  t.match(
    stderr,
    new RegExp(`process ${pid as number}\\) does not answer, .* no effect .*suspended`),
  );
  t.ok(seconds > 4 && seconds < 60, `${seconds} s`);
  gateway.process.kill('SIGCONT');
  t.match(await perform({ dataDir, ...shippedSettings }, 'user.show', { email: ann }), {
    user: { email: ann },
  });
});

t.test('a command that was suspended reads what came meanwhile', async (t) => {
  const dataDir = await aDirectory(t);
  const { path, close } = openSocketPath(dataDir);
  const server = createServer((socket) => {
    socket.resume();
    // Writes and blocks at the end of a turn, so that the next one begins with the timers.
    setImmediate(() => {
      socket.write('{"accepted":true}\n{"result":"done"}\n');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, silenceMs + 100);
    });
  });
  await once(server.listen(path), 'listening');
  t.teardown(() => {
    server.close();
    close();
  });
  t.strictSame(await converse(dataDir, 'user.list', {}, {}), { how: 'result', result: 'done' });
});

t.test('a gateway that ends in the middle of a command is not called suspended', async (t) => {
  const dataDir = await aDirectory(t);
  await poseAsGateway(t, dataDir, endAfter({ accepted: true }));
  const { code, stderr } = await runInProcess(['user', 'delete', ann, '--data-dir', dataDir]);
  t.equal(code, 1);
  t.match(
    stderr,
    /has not reported its outcome: it has ended, or has cut the command off\. Check whether the command is in effect/,
  );
  t.notMatch(stderr, /whether it is suspended/);
});

t.test(
  'a command that changes nothing is told to be run again, and to look for no effect',
  async (t) => {
    const dataDir = await aDirectory(t);
    await poseAsGateway(t, dataDir, endAfter({ accepted: true }));
    for (const args of [
      ['user', 'list'],
      ['signal', 'list'],
      ['backup', `${dataDir}-backup`],
    ]) {
      const { code, stderr } = await runInProcess([...args, '--data-dir', dataDir]);
      t.equal(code, 1);
      t.match(stderr, /cut the command off\. The command changes nothing: run it again\./);
      t.notMatch(stderr, /in effect/);
    }
  },
);

t.test(
  'a gateway that accepts a command and falls silent may have done it, if there is anything to do',
  async (t) => {
    const dataDir = await aDirectory(t);
    await poseAsGateway(t, dataDir, (socket) => void socket.write('{"accepted":true}\n'));
    const run = (...args: string[]) => runInProcess([...args, '--data-dir', dataDir]);
    const [changed, read] = await Promise.all([run('user', 'delete', ann), run('user', 'list')]);
    t.match(changed, {
      code: 1,
      stderr:
        /its outcome\. Check whether the command is in effect\. Check whether the gateway is suspended/,
    });
    t.match(read, { code: 1, stderr: /its outcome\. Check whether the gateway is suspended/ });
  },
);

t.test('a command that waits for a gateway to end does its work after it', async (t) => {
  const dataDir = await aDirectory(t);
  const gateway = await startGateway({ dataDir });
  const stopped = gateway.stop();
  t.match(await perform({ dataDir, ...shippedSettings }, 'user.show', { email: ann }), {
    user: { email: ann },
  });
  t.equal(await stopped, 0);
});

t.test(
  'what root does on the directory of another user leaves no file of root’s there',
  { skip: noOtherOwner() },
  async (t) => {
    const { dataDir } = directoryOfNobody(t);
    t.match(await perform({ dataDir, ...shippedSettings }, 'user.add', newUser), {
      user: { email: ann },
    });
    t.match(await runInProcess(['user', 'list', '--data-dir', dataDir]), {
      code: 0,
      stdout: /ann@/,
    });
    const free = ['--port', '0', '--ops-port', '0', '--data-dir', dataDir];
    t.match((await runInProcess(['doctor', ...free])).stdout, /^ok +store/m);
    const files = readdirSync(dataDir);
    t.ok(files.includes('lock.mdb') && files.includes('gateway.lock'), files.join(' '));
    for (const name of files) t.equal(statSync(join(dataDir, name)).uid, nobody, name);
    t.equal(process.geteuid?.(), 0, 'and is root again');
    t.equal(process.getegid?.(), 0);
  },
);
