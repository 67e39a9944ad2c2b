/**
 * The target `idle`: one silent connection per input, ten thousand at most, half of them with an
 * incomplete head, while members are served. Measures the memory per connection; the gateway must close
 * all of them and keep nothing.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { readFileSync } from 'node:fs';
import { signal, submit } from '../../../support/api.js';
import { eventually } from '../../../support/eventually.js';
import { rawCall } from '../../../support/raw-client.js';
import { FuzzedGateway, openTerminal, ownMemoryMb } from '../fuzzed-gateway.js';
import type { FuzzRun } from '../target.js';

const connectionsMax = 10_000;
/** Descriptors for the store, the terminals and the served clients. */
const descriptorsSpared = 200;
const atATime = 200;
/** The gateway closes idle connections after ten seconds, later on a slow machine. */
const closedWithinMs = 120_000;
/** A socket takes less than a kilobyte; kernel buffers are not the gateway's memory. */
const kilobytesEach = 16;
/** Growth of the heap by the served requests. */
const kilobytesSpared = 100_000;

export async function fuzzIdle(run: FuzzRun, inputs: number): Promise<string> {
  const { verdict } = run;
  verdict.round = 1;
  const wanted = Math.min(inputs, connectionsMax);
  const count = Math.min(wanted, descriptorsMax() - descriptorsSpared);
  if (count < wanted) {
    console.log(
      `ONLY ${count} of ${wanted} connections: the limit of open files is ${descriptorsMax()}`,
    );
  }
  const email = 'member@example.com';
  const gateway = await FuzzedGateway.open(run, 'idle', [email], {
    keyRequestsPerMinute: 1_000_000,
  });
  const member = await gateway.member(email);
  const terminal = await openTerminal(gateway.url, member);
  await gateway.checkHealth(member, terminal);
  const pid = gateway.process.process.pid as number;
  const before = { descriptors: gateway.descriptors, megabytes: ownMemoryMb(pid) };

  const sockets: Socket[] = [];
  const chance = run.chance.child('idle');
  const head = `GET /api/v1/terminal-events/sources HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${member.key}\r\n`;
  const lineEnd = head.indexOf('\r\n') + 2;
  let closed = 0;
  let outcome = '';
  let isOver = false;
  const served = serveUntil(() => isOver);
  while (sockets.length < count) {
    const opened = Array.from({ length: Math.min(atATime, count - sockets.length) }, (_, at) => {
      const socket = open(gateway.url, sockets.length + at);
      socket.on('data', (chunk) => (outcome += chunk.toString('latin1')));
      socket.on('close', () => closed++);
      return socket;
    });
    await Promise.all(opened.map((socket) => once(socket, 'connect')));
    for (const socket of opened) {
      // The older native binary answers a split request line at once (native-notes/http-parser.md).
      if (chance.happens(0.5)) socket.write(head.slice(0, chance.between(lineEnd, head.length)));
    }
    sockets.push(...opened);
  }
  const most = gateway.descriptors - before.descriptors;
  const megabytes = ownMemoryMb(pid);
  const grownKb = (megabytes - before.megabytes) * 1024;
  const isBounded = grownKb <= count * kilobytesEach + kilobytesSpared;
  verdict.hold('a silent connection costs little memory', isBounded, () => ({ before, megabytes }));
  await eventually(() => closed === count, closedWithinMs).catch(() => undefined);
  isOver = true;
  const signals = await served;
  verdict.hold('the gateway closes what is silent', closed === count, () => ({ closed, count }));
  verdict.hold('nothing is answered that was not asked', outcome === '', () =>
    outcome.slice(0, 500),
  );
  await gateway.descriptorsBackTo(before.descriptors + 8);
  await gateway.checkHealth(member, terminal);
  await gateway.stop();
  return `${count} connections, ${most} open at once, ${(grownKb / count).toFixed(1)} KB each, ${signals} signals accepted meanwhile`;

  /** Repeats a request on a new connection and a signal. @returns the number of signals. */
  async function serveUntil(isEnough: () => boolean): Promise<number> {
    let signals = 0;
    for (; !isEnough(); signals++) {
      const page = await rawCall(gateway.url, 'GET', '/api/none');
      verdict.hold('others are answered meanwhile', page?.status === 404, () => page);
      const answer = await submit(gateway.url, member.key, signal());
      const isServed = answer.status === 202;
      if (!verdict.hold('others are served meanwhile', isServed, () => answer.text)) break;
      await terminal.next('submit', { signalId: answer.body.signalId });
    }
    return signals;
  }
}

/** Connects from many addresses, since one has too few ports. */
function open(url: string, place: number): Socket {
  const { hostname, port } = new URL(url);
  const localAddress = `127.1.0.${1 + (place % 100)}`;
  const socket = connect({ host: hostname, port: Number(port), localAddress });
  return socket.on('error', () => undefined);
}

/** The limit of this process, which the gateway inherits. */
function descriptorsMax(): number {
  const limits = readFileSync('/proc/self/limits', 'utf8');
  return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1]);
}
