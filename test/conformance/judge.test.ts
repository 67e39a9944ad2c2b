/** A line that breaks and a computer that stands still are no fault of the plugin. */
import { once } from 'node:events';
import { createConnection } from 'node:net';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { openJudge, type Judge, type RuleName } from '../../src/conformance/judge.js';
import { nextTurn } from '../../src/lib/turn.js';
import { helloTimeoutMs, pluginPath, subprotocol } from '../../src/plugins/protocol.js';
import { logIn } from '../../src/terminal/session-login.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { judged } from './judged.js';

t.setTimeout(300_000);

t.test('a plugin whose line breaks once in a rule is judged by another try', async (t) => {
  const broken = new Set<string>();
  const only: RuleName[] = ['fill', 'cancel', 'cut_after_ack'];
  const verdicts = await judged(
    {
      fromGateway(frame) {
        const rule = String(frame['signalId']).split('-')[1];
        if (frame.type !== 'submit' || rule === undefined || broken.has(rule)) return frame;
        broken.add(rule);
        return 'cut';
      },
    },
    { answerMs: 20_000, backlog: 10, only },
  );
  t.strictSame(broken, new Set(only));
  t.strictSame(
    verdicts.filter(({ result }) => result === 'fail'),
    [],
  );
});

const awayMs = 300_000;
const answerMs = 600_000;
const backlog = 3;

/** A judge by a simulated clock, and connections to it. */
async function open(t: Test, ...only: RuleName[]) {
  const clock = new SimulatedClock();
  const bounds = {
    answerMs,
    connectMs: 600_000,
    awayMs,
    helloMs: helloTimeoutMs,
  };
  const orders = { instrument: 'ES', quantity: 1, limitPrice: 1, backlog };
  const judge = await openJudge({
    clock,
    ...bounds,
    ...orders,
    only,
    host: '127.0.0.1',
    port: 0,
    password: 'secret',
    onWaiting: () => undefined,
  });
  t.teardown(() => judge.close());
  return { clock, judge };
}

async function tokenOf(judge: Judge): Promise<string> {
  const login = await logIn(judge);
  if (!login.ok) throw new Error(login.message);
  return login.sessionToken;
}

async function connect(judge: Judge, token?: string): Promise<WebSocket> {
  const headers = { authorization: `Bearer ${token ?? (await tokenOf(judge))}` };
  const socket = new WebSocket(judge.url.replace('http', 'ws') + pluginPath, subprotocol, {
    headers,
  });
  await once(socket, 'open');
  return socket;
}

const hello = JSON.stringify({
  type: 'hello',
  platform: 'terminal_a',
  instanceId: 'desk-1',
  accountName: 'Sim101',
  capabilities: ['submit'],
});

t.test(
  'a plugin whose hello is late once is not at fault, and one that is always late is',
  async (t) => {
    for (const [lateMax, result] of [
      [1, 'pass'],
      [99, 'fail'],
    ] as const) {
      const { clock, judge } = await open(t, 'hello');
      const verdict = judge.verdicts().next();
      let isJudged = false;
      void verdict.then(() => (isJudged = true));
      // The first connection is cut at once, to see how the next one begins.
      for (let count = 0; !isJudged; count++) {
        const socket = await connect(judge);
        if (count >= 1 && count <= lateMax) clock.elapse(helloTimeoutMs);
        socket.send(hello);
        await once(socket, 'message');
        await Promise.race([once(socket, 'close'), verdict]);
      }
      t.match(await verdict, { value: { result } });
    }
  },
);

t.test('a plugin that ends while it logs in does not end the judge', async (t) => {
  const { judge } = await open(t);
  const cut = createConnection(Number(new URL(judge.url).port), '127.0.0.1').resume();
  cut.end('POST /api/auth/login HTTP/1.1\r\nHost: judge\r\nContent-Length: 100\r\n\r\n{"email"');
  await once(cut, 'close');
  t.ok(await tokenOf(judge));
});

t.test('a plugin that stands still while it is sent away is judged when it knows', async (t) => {
  const { clock, judge } = await open(t, 'revoked', 'replaced');
  const verdicts: unknown[] = [];
  const judgement = (async () => {
    for await (const { result } of judge.verdicts()) verdicts.push(result);
  })();
  const still = await connect(judge);
  still.send(hello);
  still.pause();
  await pass(clock, 6_000);
  still.resume();
  t.strictSame(await closeCodeOf(still), 4503);
  // With a new token it may come back.
  const next = await connect(judge);
  next.send(hello);
  const code = closeCodeOf(next);
  while (verdicts.length < 2) await pass(clock, 100);
  t.strictSame(verdicts, ['pass', 'pass']);
  t.strictSame(await code, 4501);
  await judgement;
});

t.test(
  'a plugin that has to be started again after 4001 does not come back by itself',
  async (t) => {
    for (const [means, result] of [
      ['the token that it has', 'pass'],
      ['a new login, as after a start', 'fail'],
    ] as const) {
      const { clock, judge } = await open(t, 'draining');
      const verdict = judge.verdicts().next();
      const token = await tokenOf(judge);
      const first = await connect(judge, token);
      const code = closeCodeOf(first);
      first.send(hello);
      t.equal(await code, 4001);
      // The judge has to see the end of the connection first: its own side closes last.
      for (let turn = 0; turn < 100; turn++) await nextTurn();
      clock.elapse(awayMs);
      const back = await connect(judge, result === 'pass' ? token : undefined);
      back.on('message', (data: Buffer) => {
        const { type, executionId } = JSON.parse(data.toString()) as Record<string, unknown>;
        if (type !== 'submit') return;
        back.send(JSON.stringify({ type: 'ack', executionId }));
        back.send(JSON.stringify({ type: 'report', seq: 1, executionId, status: 'filled' }));
      });
      back.send(hello);
      t.match(await verdict, { value: { result } }, means);
    }
  },
);

t.test('a plugin whose timer is a little early waits as long as Retry-After says', async (t) => {
  const { clock, judge } = await open(t, 'retry_after');
  const verdict = judge.verdicts().next();
  const first = await connect(judge);
  first.send(hello);
  await once(first, 'close');
  await t.rejects(connect(judge), { message: /429/ });
  clock.elapse(4_950);
  const back = await connect(judge);
  back.send(hello);
  t.match(await verdict, { value: { result: 'pass' } });
});

t.test('a plugin whose reports come one by one, each in time, keeps its backlog', async (t) => {
  const { clock, judge } = await open(t, 'backlog');
  const verdict = judge.verdicts().next();
  const token = await tokenOf(judge);
  const reports: string[] = [];
  const first = await connect(judge, token);
  const tell = async (socket: WebSocket, frame: string): Promise<void> => {
    clock.advance(answerMs / 2 + 1);
    socket.send(frame);
    socket.ping();
    await Promise.race([once(socket, 'pong'), verdict]);
  };
  const taken = new Promise<void>((resolve) => {
    first.on('message', (data: Buffer) => {
      const { type, executionId } = JSON.parse(data.toString()) as Record<string, unknown>;
      if (type !== 'submit') return;
      const seq = reports.length + 1;
      reports.push(JSON.stringify({ type: 'report', seq, executionId, status: 'rejected' }));
      if (seq === backlog) resolve();
    });
  });
  first.send(hello);
  await taken;
  for (const frame of reports) await tell(first, frame);
  const next = await connect(judge, token);
  next.send(hello);
  await Promise.race([once(next, 'message'), verdict]);
  for (const frame of reports) await tell(next, frame);
  t.match(await verdict, { value: { result: 'pass' } });
});

async function closeCodeOf(socket: WebSocket): Promise<number> {
  const [code] = (await once(socket, 'close')) as [number];
  return code;
}

async function pass(clock: SimulatedClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) {
    clock.advance(100);
    await nextTurn();
  }
}
