/**
 * What the plugin base of every language promises, at a real gateway and over real sockets: its paper
 * terminal trades, and a terminal that dies before its broker executes nothing twice and loses no report.
 */
import type { ChildProcess } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { limits } from '../../src/limits.js';
import { messageBytesMax, pluginPath, type SubmitFrame } from '../../src/plugins/protocol.js';
import { signal, submit } from '../support/api.js';
import { openCuttingProxy } from '../support/cutting-proxy.js';
import { eventually } from '../support/eventually.js';
import { startFakeApi, type Reply } from '../support/fake-api.js';
import { startFakeGateway, type FakeGateway } from '../support/fake-gateway.js';
import { freePort } from '../support/free-port.js';
import { startTestGateway, type TestUser } from '../support/gateway.js';
import { nonsense } from './nonsense.js';
import { startTerminal, type TerminalProcess } from './terminal-process.js';

/** How a language runs its programs: the command, and what it needs in its environment. */
export interface Language {
  readonly paper: readonly string[];
  readonly ledger: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Asks the paper terminal to end, which it does with 0. */
  readonly stop: (paper: ChildProcess) => unknown;
}

const source = ['terminal_a', 'desk-1', 'Sim101'];
const limitOrder = {
  instrument: 'ES',
  side: 'buy',
  executionType: 'limit',
  limitPrice: 4900,
  quantity: 3,
};

export const order: SubmitFrame = {
  type: 'submit',
  executionId: 'exe_1',
  requestId: 'req_1',
  signalId: 'signal-1',
  signalType: 'order',
  cmd: 'submit',
  payload: {},
  ts: 1_768_478_400_000,
  expiresAt: '2999-01-01T00:00:00.000Z',
};

/** A payload with which the whole signal is as deep as the limits allow. */
const deepest: Record<string, unknown> = { quantity: 1 };
for (let depth = 3, last = deepest; depth <= limits.jsonDepthMax.max; depth++) {
  last = last['inner'] = { quantity: 1 } as Record<string, unknown>;
}

export async function testPluginPromises(t: Test, language: Language): Promise<void> {
  const gateway = await startTestGateway(t);

  const start = (
    t: Test,
    user: TestUser,
    command: readonly string[],
    args: readonly string[],
    url = gateway.url,
  ): TerminalProcess =>
    startTerminal(t, [...command, ...source, ...args], language.environment, {
      url,
      email: user.email,
    });

  const paper = async (
    t: Test,
    user: TestUser,
    journalDir = t.testdir(),
    url = gateway.url,
  ): Promise<TerminalProcess> => {
    const terminal = start(t, user, language.paper, [journalDir], url);
    await terminal.notice('connected');
    return terminal;
  };

  await t.test('the paper terminal fills, rests, cancels and rejects', async (t) => {
    const user = await gateway.user();
    const terminal = await paper(t, user);
    const filled = await gateway.submit(user);
    t.match(await gateway.becomes(user, filled, 'filled'), {
      delivery: 'confirmed',
      filledQuantity: 1,
      remainingQuantity: 0,
      averageFillPrice: 5000,
      fills: [{ price: 5000, quantity: 1 }],
      native: { state: 'Filled' },
    });

    const resting = await gateway.submit(user, { payload: limitOrder });
    const { orderRef } = await gateway.becomes(user, resting, 'working');
    t.equal((await gateway.cancel(user, orderRef)).status, 202);
    const cancelled = await gateway.becomes(user, resting, 'cancelled');
    t.match(cancelled.cancel, { status: 'cancelled' });

    const wrong = await gateway.submit(user, { payload: { ...limitOrder, stopLoss: 4800 } });
    const rejected = await gateway.becomes(user, wrong, 'rejected');
    t.match(rejected, { reasonCode: 'invalid_field', native: { text: /stopLoss/ } });

    language.stop(terminal.process);
    t.equal(await terminal.ended(), 0);
  });

  await t.test('a number beyond all limits is rejected, and the next order filled', async (t) => {
    const user = await gateway.user();
    await paper(t, user);
    for (const quantity of ['1e999', `1${'0'.repeat(5_000)}`]) {
      const payload = { ...limitOrder, quantity: '<quantity>' };
      const body = JSON.stringify(signal({ payload })).replace('"<quantity>"', quantity);
      const { requestId } = (await submit(gateway.url, user.key, body)).body;
      t.match(await gateway.becomes(user, requestId, 'rejected'), {
        reasonCode: 'invalid_quantity',
      });
    }
    await gateway.becomes(user, await gateway.submit(user), 'filled');
  });

  await t.test('what no gateway sends is passed over, and the next order executed', async (t) => {
    const fake = await fakeGateway(t);
    const ledger = ledgerAt(t, language, fake.url);
    const terminal = ledger.start();
    const connection = await Promise.race([fake.connection(), terminal.ended()]);
    if (typeof connection !== 'object' || connection === null) throw new Error('it has ended');
    const badFrames = async (): Promise<void> => {
      for (const text of nonsense) {
        connection.socket.send(text);
        await terminal.notice('bad_frame');
      }
    };
    await connection.next('hello');
    await badFrames();
    connection.sendWelcome();
    await terminal.notice('connected');
    connection.sendWelcome({ lastSeq: 7 });
    await badFrames();
    for (const seq of [1, 2]) {
      connection.send({ type: 'ack', seq: Number.MAX_SAFE_INTEGER });
      connection.send({ ...order, executionId: `exe_${seq}`, payload: deepest });
      t.match(await connection.next('report'), { seq, executionId: `exe_${seq}` });
    }
    t.equal(ledger.placed().length, 2);
    await terminal.kill();
    ledger.start();
    await (await fake.connection()).next('hello');
  });

  await t.test('a cancel that was pending at its end is taken up at its next start', async (t) => {
    const fake = await fakeGateway(t);
    const ledger = ledgerAt(t, language, fake.url);
    const first = ledger.start('later');
    const connection = await fake.connection();
    await connection.welcome();
    connection.send({ ...order, payload: { quantity: 1 } });
    await connection.next('report');
    const cancelRequestId = 'can_1';
    connection.send({ type: 'cancel', cancelRequestId, executionId: 'exe_1', orderRef: 'ord_1' });
    const { seq } = await connection.next('cancel_report');
    await first.kill();
    ledger.start();
    const second = await fake.connection();
    await second.welcome({ lastSeq: seq });
    t.match(await second.next('cancel_report'), { cancelRequestId, status: 'cancelled' });
  });

  await t.test(
    'a snapshot says how many orders it lacks, of its terminal and of its own',
    async (t) => {
      const fake = await fakeGateway(t);
      ledgerAt(t, language, fake.url).start();
      const connection = await fake.connection();
      await connection.welcome();
      connection.send({ type: 'snapshot', snapshotId: 'sna_1' });
      const { data } = await connection.next('event');
      const { snapshotId, orders, ordersOmitted } = data as Record<string, unknown>;
      const shown = orders as { orderId: string }[];
      t.match([snapshotId, Number(shown.at(-1)?.orderId)], ['sna_1', 1_999]);
      t.equal(shown.length + Number(ordersOmitted), 2_005);
    },
  );

  await t.test('a snapshot that no frame can hold fails, and says so', async (t) => {
    const fake = await fakeGateway(t);
    const terminal = ledgerAt(t, language, fake.url).start('crowded');
    const connection = await fake.connection();
    await connection.welcome();
    connection.send({ type: 'snapshot', snapshotId: 'sna_1' });
    t.match(await terminal.notice('failed'), { id: 'snapshot', message: /larger than a frame/ });
  });

  await t.test('a message that is too large ends its connection, and it says why', async (t) => {
    const fake = await fakeGateway(t);
    const terminal = ledgerAt(t, language, fake.url).start();
    const connection = await fake.connection();
    await connection.welcome();
    connection.socket.send('x'.repeat(messageBytesMax + 1));
    t.match(await terminal.notice('disconnected'), { message: /too (big|large)/ });
    await (await fake.connection()).next('hello');
  });

  await t.test('an answer to its login that no gateway gives is none', async (t) => {
    const other = await startFakeApi();
    t.teardown(() => other.close());
    const api = await startFakeApi();
    t.teardown(() => api.close());
    const token = '{"sessionToken":"svc_session_1"}';
    other.play({ status: 200, body: token });
    const headers = { Location: `${other.baseUrl}/api/auth/login` };
    const answers: readonly [name: string, reply: Reply][] = [
      ['a redirect', { status: 307, headers }],
      ['a redirect to another page', { status: 302, headers }],
      ['an answer that is too long', { status: 200, body: token.padStart(2 ** 26) }],
    ];
    const ledger = ledgerAt(t, language, api.baseUrl);
    for (const [name, reply] of answers) {
      api.play(reply);
      const terminal = ledger.start();
      const goesOn = terminal.notice('connecting').then(() => 'goes on');
      goesOn.catch(() => undefined);
      t.notMatch(await Promise.race([terminal.ended(), goesOn]), /^(0|goes on)$/, name);
      await terminal.kill();
    }
    // The password did not reach the other host.
    t.strictSame(other.seen, []);
  });

  await t.test('a refused login says what the gateway says', async (t) => {
    const api = await startFakeApi();
    t.teardown(() => api.close());
    const message = 'Wrong email or password.';
    api.play({ status: 401, body: { code: 'invalid_credentials', message } });
    const terminal = ledgerAt(t, language, api.baseUrl).start();
    await t.rejects(terminal.notice('connecting'), { message: /Wrong email or password\./ });
  });

  await t.test('without a gateway it ends, and its supervisor starts it again', async (t) => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const command = [...language.paper, ...source, t.testdir()];
    const terminal = startTerminal(t, command, language.environment, {
      url,
      email: 'ann@example.com',
    });
    t.equal(await terminal.ended(), 1);
  });

  await t.test('a refusal of a strange shape does not end it', async (t) => {
    const fake = await fakeGateway(t);
    fake.status = 429;
    fake.retryAfter = '1\r\nRetry-After: 1';
    const terminal = ledgerAt(t, language, fake.url).start();
    await terminal.notice('disconnected');
    fake.status = 302;
    fake.retryAfter = '1\r\nLocation: http://[no-address';
    await terminal.notice('disconnected');
    const other = await fakeGateway(t);
    const leak = other.connection().then(() => 'another host has the session token');
    fake.retryAfter = `1\r\nLocation: ws://127.0.0.1:${other.port}${pluginPath}`;
    // The first notice may be of the attempt before.
    for (let attempt = 0; attempt < 2; attempt++) {
      t.type(await Promise.race([terminal.notice('disconnected'), leak]), 'object');
    }
    fake.status = 101;
    await terminal.notice('connecting');
    await (await fake.connection()).next('hello');
  });

  await t.test('an order that rests survives a kill, and can be cancelled then', async (t) => {
    const user = await gateway.user();
    const journalDir = t.testdir();
    const first = await paper(t, user, journalDir);
    const resting = await gateway.submit(user, { payload: limitOrder });
    const { orderRef } = await gateway.becomes(user, resting, 'working');
    await first.kill();
    await paper(t, user, journalDir);
    t.equal((await gateway.cancel(user, orderRef)).status, 202);
    t.match((await gateway.becomes(user, resting, 'cancelled')).cancel, { status: 'cancelled' });
  });

  await t.test('it reconnects after a cut and after a restart of the gateway', async (t) => {
    const user = await gateway.user();
    const proxy = await openCuttingProxy(t, () => gateway.url);
    const terminal = await paper(t, user, t.testdir(), proxy.url);
    proxy.cut();
    await terminal.notice('disconnected');
    const missed = await gateway.submit(user);
    await gateway.becomes(user, missed, 'filled');
    await gateway.restart('SIGKILL');
    await terminal.notice('connected');
    await gateway.becomes(user, await gateway.submit(user), 'filled');
  });

  await t.test('an answer that drips does not hold its attempt to connect', async (t) => {
    const user = await gateway.user();
    const proxy = await openCuttingProxy(t, gateway.url);
    const terminal = await paper(t, user, t.testdir(), proxy.url);
    proxy.drips = true;
    proxy.cut();
    await terminal.notice('disconnected');
    await terminal.notice('disconnected');
    proxy.drips = false;
    await terminal.notice('connected');
  });

  await t.test('a welcome that came while its process stood still is taken', async (t) => {
    const fake = await fakeGateway(t);
    const terminal = ledgerAt(t, language, fake.url).start();
    const connection = await fake.connection();
    await connection.next('hello');
    connection.socket.send('nonsense');
    // The notice shows that the terminal waits for its welcome.
    await terminal.notice('bad_frame');
    terminal.process.kill('SIGSTOP');
    connection.sendWelcome();
    // Longer than a terminal waits for a welcome.
    await sleep(17_000);
    terminal.process.kill('SIGCONT');
    const ends = ['connected', 'disconnected'].map((kind) => terminal.notice(kind));
    t.match(await Promise.race(ends), { notice: 'connected' });
  });

  await t.test('an answer that drips does not hold a login', async (t) => {
    const user = await gateway.user();
    const proxy = await openCuttingProxy(t, gateway.url);
    proxy.drips = true;
    const beganAt = performance.now();
    const terminal = start(t, user, language.ledger, [...ledgerIn(t).args, 'never'], proxy.url);
    t.not(await terminal.ended(), 0);
    t.ok(performance.now() - beganAt < 60_000);
  });

  await t.test('what comes while it stops is left to its next start', async (t) => {
    const user = await gateway.user();
    const journalDir = t.testdir();
    const proxy = await openCuttingProxy(t, gateway.url);
    const first = await paper(t, user, journalDir, proxy.url);
    proxy.holdUntilClose();
    const order = await gateway.submit(user);
    const { executionId } = await gateway.becomes(user, order, 'dispatched');
    language.stop(first.process);
    t.equal(await first.ended(), 0);
    const name = readdirSync(journalDir).find((file) => file.endsWith('.journal')) as string;
    // An order that is stored and not executed would be in doubt.
    t.notMatch(readFileSync(join(journalDir, name), 'utf8'), executionId);
    await paper(t, user, journalDir);
    await gateway.becomes(user, order, 'filled');
  });

  await t.test('a second process on the same journal is refused', async (t) => {
    const user = await gateway.user();
    const journalDir = t.testdir();
    await paper(t, user, journalDir);
    const second = start(t, user, language.paper, [journalDir]);
    t.equal(await second.ended(), 1);
  });

  await t.test('a revoked session ends it with an error', async (t) => {
    const user = await gateway.user();
    const terminal = await paper(t, user);
    await gateway.command('session', 'revoke', user.email);
    t.equal(await terminal.ended(), 1);
  });

  for (const where of ['before', 'after'] as const) {
    await t.test(`killed ${where} it executes a command, it executes it once`, async (t) => {
      const user = await gateway.user();
      const files = ledgerIn(t);
      const dying = start(t, user, language.ledger, [...files.args, where]);
      await dying.notice('connected');
      const order = await gateway.submit(user);
      await dying.ended();
      t.equal(files.placed().length, where === 'after' ? 1 : 0);
      start(t, user, language.ledger, [...files.args, 'never']);
      await gateway.becomes(user, order, 'filled');
      t.equal(files.placed().length, 1);
    });
  }

  await t.test('killed while nothing of it arrives, it loses no report', async (t) => {
    const user = await gateway.user();
    const files = ledgerIn(t);
    const proxy = await openCuttingProxy(t, () => gateway.url);
    const mute = start(t, user, language.ledger, [...files.args, 'never'], proxy.url);
    await mute.notice('connected');
    proxy.swallow();
    const order = await gateway.submit(user);
    await eventually(() => files.placed().length === 1);
    await mute.kill();
    start(t, user, language.ledger, [...files.args, 'never'], proxy.url);
    t.match(await gateway.becomes(user, order, 'filled'), { fills: [{ fillId: '1' }] });
    t.equal(files.placed().length, 1);
  });

  await t.test('killed again and again among orders, it executes each of them once', async (t) => {
    const user = await gateway.user();
    const files = ledgerIn(t);
    const orders: string[] = [];
    for (let round = 0; round < 5; round++) {
      const terminal = start(t, user, language.ledger, [...files.args, 'never']);
      await terminal.notice('connected');
      const before = files.placed().length;
      for (let count = 0; count < 6; count++) orders.push(await gateway.submit(user));
      await eventually(() => files.placed().length > before + round);
      await terminal.kill();
    }
    start(t, user, language.ledger, [...files.args, 'never']);
    for (const order of orders) await gateway.becomes(user, order, 'filled');
    const placed = files.placed();
    t.equal(placed.length, orders.length);
    t.equal(new Set(placed).size, orders.length);
  });
}

/** A gateway that the test plays; it closes when the test ends. */
export async function fakeGateway(t: Test): Promise<FakeGateway> {
  const fake = await startFakeGateway();
  t.teardown(() => fake.close());
  return fake;
}

/** Ledgers that share a journal and a broker, at a fake gateway. */
export function ledgerAt(
  t: Test,
  { ledger, environment }: Pick<Language, 'ledger' | 'environment'>,
  url: string,
) {
  const { args, placed } = ledgerIn(t);
  return {
    placed,
    start: (dies = 'never') =>
      startTerminal(t, [...ledger, ...source, ...args, dies], environment, {
        url,
        email: 'ann@example.com',
      }),
  };
}

function ledgerIn(t: Test) {
  const directory = t.testdir();
  const path = join(directory, 'ledger');
  return {
    args: [join(directory, 'journal'), path],
    /** executionIds in the order in which the broker got them. */
    placed: (): string[] =>
      existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [],
  };
}
