import { createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { type LoadSpec, runLoad } from '../../bench/load/load.js';

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';
const callers = [
  { key: `svc_api_${'a'.repeat(43)}`, requestId: `req_${'0'.repeat(26)}` },
  { key: `svc_api_${'b'.repeat(43)}`, requestId: `req_${'1'.repeat(26)}` },
];
const base = { workload: 'status', callers, warmupSeconds: 0 } as const;

/** Answers as `answer` says, request by request; counted over all connections. */
async function startServer(
  t: Test,
  answer: (socket: Socket, count: number, request: string) => void,
): Promise<string> {
  let count = 0;
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (request) => answer(socket, count++, request.toString('latin1')));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}

t.test('open loop: a stall is charged to every request that had to wait for it', async (t) => {
  const stallMs = 300;
  const url = await startServer(t, (socket, count) => {
    if (count > 0) socket.write(ok);
    else setTimeout(() => socket.write(ok), stallMs);
  });
  const spec: LoadSpec = { ...base, url, connections: 1, ratePerSecond: 100, seconds: 0.4 };
  const { answers, latency, unanswered } = await runLoad(spec);
  t.equal(answers, 40);
  t.equal(unanswered, 0);
  // The requests of the first 200 ms, half of all, waited for at least 100 ms, though only one was slow.
  t.ok(latency.percentile(50) >= 99, `the median is ${latency.percentile(50)} ms`);
});

t.test(
  'open loop: what is never answered counts with the time that was waited in vain',
  async (t) => {
    const url = await startServer(t, (socket, count) => {
      if (count === 3) socket.destroy();
      else socket.write(ok);
    });
    const spec: LoadSpec = { ...base, url, connections: 1, ratePerSecond: 200, seconds: 0.1 };
    const { answers, unanswered, latency } = await runLoad(spec);
    t.match({ answers, unanswered }, { answers: 19, unanswered: 1 });
    t.equal(latency.count, 20);
  },
);

t.test('open loop: grants are listed for each caller, refusals are not', async (t) => {
  const url = await startServer(t, (socket, _, request) => {
    const isRefused = request.includes('bbb');
    socket.write(isRefused ? ok.replace('200 OK', '429 Too Many Requests') : ok);
  });
  const spec: LoadSpec = { ...base, url, connections: 2, ratePerSecond: 200, seconds: 0.1 };
  const { grants, byStatus, unexpected } = await runLoad({ ...spec, listsGrants: true });
  t.same(byStatus, { 200: 10, 429: 10 });
  t.equal(unexpected, 10);
  t.same(
    grants?.map((list) => list.length),
    [10, 0],
  );
  t.same(
    grants?.[0]?.map(([intendedMs]) => Math.round(intendedMs)),
    [0, 10, 20, 30, 40, 50, 60, 70, 80, 90],
  );
});

t.test('open loop: the warm-up is sent and not counted', async (t) => {
  let received = 0;
  const url = await startServer(t, (socket) => {
    received++;
    socket.write(ok);
  });
  const spec = {
    ...base,
    url,
    connections: 2,
    ratePerSecond: 200,
    warmupSeconds: 0.1,
    seconds: 0.1,
  };
  const { answers, lateness } = await runLoad(spec);
  t.match({ answers, received, sent: lateness.count }, { answers: 20, received: 40, sent: 20 });
});

t.test('closed loop: a connection has one request in flight', async (t) => {
  const inFlight = new Map<Socket, number>();
  let most = 0;
  const url = await startServer(t, (socket) => {
    inFlight.set(socket, (inFlight.get(socket) ?? 0) + 1);
    most = Math.max(most, inFlight.get(socket) ?? 0);
    setImmediate(() => {
      inFlight.set(socket, 0);
      socket.write(ok);
    });
  });
  const { answers, byStatus } = await runLoad({ ...base, url, connections: 3, seconds: 2 });
  t.equal(most, 1);
  t.equal(inFlight.size, 3);
  t.same(byStatus, { 200: answers });
  t.ok(answers > 3);
});

t.test('closed loop: a time too short for any answer ends with the first one', async (t) => {
  const url = await startServer(t, (socket) => {
    setTimeout(() => socket.write(ok), 200);
  });
  const report = await runLoad({ ...base, url, connections: 1, seconds: 0.05 });
  t.match(report, { answers: 1, byStatus: { 200: 1 }, unanswered: 0 });
  t.ok(report.seconds >= 0.19, `${report.seconds} s`);
  t.equal(report.answersPerSecond, 1 / report.seconds);
  t.equal(report.latency.count, 1);
});

t.test('a server that is gone ends the generator, and the bench hears of it', async (t) => {
  const spec: LoadSpec = { ...base, url: 'http://127.0.0.1:1', connections: 1, seconds: 1 };
  await t.rejects(runLoad(spec), /the server is gone/);
});
