/**
 * Floods a gateway that has the shipped limits: requests of one key, of one address without a key and
 * of one that guesses passwords, each far over its limit, while a member within the limits is served.
 * A flood gets what its limit grants, and 429 with `Retry-After` for the rest.
 */
import { signal, submit } from '../../../support/api.js';
import { RawClient, request, type RawAnswer } from '../../../support/raw-client.js';
import { FuzzedGateway, openTerminal } from '../fuzzed-gateway.js';
import { inParallel } from '../../in-parallel.js';
import type { FuzzRun } from '../target.js';

const names = ['attacker@example.com', 'victim@example.com'] as const;
const connections = 8;
const windowMs = 60_000;
/** More than the largest of the limits. */
const requestsMin = 1_300;
const overLimit = 429;

interface Flood {
  readonly name: string;
  /** Requests granted within a minute, less those that setting up has used. */
  readonly granted: number;
  readonly bytes: string;
  /** Status of a request within the limit. */
  readonly within: number;
}

export async function runFloods(run: FuzzRun, inputs: number): Promise<string> {
  const { verdict } = run;
  const startedAt = performance.now();
  const gateway = await FuzzedGateway.open(run, 'floods', names, {});
  const attacker = await gateway.member(names[0]);
  const victim = await gateway.member(names[1]);
  const terminal = await openTerminal(gateway.url, victim);
  const sources = '/api/v1/terminal-events/sources';
  const guess = JSON.stringify({ email: 'nobody', password: '' });
  // oxfmt-ignore
  const floods: Flood[] = [
    { name: 'one key', granted: 1_200, bytes: request('GET', sources, [`Authorization: Bearer ${attacker.key}`]), within: 200 },
    { name: 'an address without a key', granted: 60, bytes: request('GET', sources), within: 401 },
    { name: 'an address that guesses keys', granted: 0, bytes: request('GET', sources, ['Authorization: Bearer svc_api_guess']), within: 401 },
    // The logins of the two members count against this limit too.
    { name: 'an address that guesses passwords', granted: 8, bytes: request('POST', '/api/auth/login', ['Content-Type: application/json'], guess), within: 400 },
  ];
  await gateway.checkHealth(victim, terminal);
  let isOver = false;
  let served = 0;
  const serving = (async () => {
    for (; !isOver; served++) {
      const answer = await submit(gateway.url, victim.key, signal());
      // The member stays within the limit of its own key.
      const isServed = answer.status === 202;
      if (!verdict.hold('who floods not is served', isServed, () => answer.text)) return;
      await terminal.next('submit', { signalId: answer.body.signalId });
      await new Promise((resolve) => setTimeout(resolve, windowMs / 1_000));
    }
  })();
  const each = Math.max(requestsMin, Math.ceil(inputs / 10));
  for (const flood of floods) await play(flood, each);
  isOver = true;
  await serving;
  await gateway.checkHealth(victim, terminal);
  await gateway.stop();
  return `${each * floods.length} requests in floods, ${served} signals accepted meanwhile`;

  async function play({ name, granted, bytes, within }: Flood, count: number): Promise<void> {
    const counts = new Map<number, number>();
    const clients = await Promise.all(
      Array.from({ length: connections }, () => RawClient.connect(gateway.url)),
    );
    await inParallel(connections, count, async (lane) => {
      const client = clients[lane] as RawClient;
      await client.send(bytes);
      const answer = await client.answer();
      counts.set(answer?.status ?? 0, (counts.get(answer?.status ?? 0) ?? 0) + 1);
      holdAnswer(name, answer, within);
      return true;
    });
    for (const client of clients) client.cut();
    // After a minute the first grants leave the window.
    const isWithinMinute = performance.now() - startedAt < windowMs;
    const some = counts.get(within) ?? 0;
    const isExact = some === Math.min(granted, count);
    verdict.hold('a flood gets what its limit grants', !isWithinMinute || isExact, () => [
      name,
      granted,
      counts,
    ]);
  }

  function holdAnswer(name: string, answer: RawAnswer | undefined, within: number): void {
    const isKnown = answer !== undefined && [within, overLimit].includes(answer.status);
    verdict.hold('a flood is answered', isKnown, () => [name, answer]);
    const wait = answer?.headers['retry-after']?.[0] ?? '';
    const isTold = answer?.status !== overLimit || /^[1-9][0-9]?$/.test(wait);
    verdict.hold('a flood is told when to come back', isTold, () => [name, answer]);
  }
}
