/**
 * The target `floods`: one user floods the plugin socket or the API of a gateway that has the shipped limits,
 * from a process of its own, while another user trades. An input is a request of that other user, which must
 * succeed about as fast as without the flood. `--attacks events,acks` runs only these.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { call, bearer, signal, submit } from '../../../support/api.js';
import { endWithTest } from '../../../support/end-with-test.js';
import { FuzzedGateway, openTerminal, ownMemoryMb, type Member } from '../fuzzed-gateway.js';
import type { Target } from '../target.js';

const attacks: readonly string[] = [
  'events',
  'large_events',
  'reports',
  'heartbeats',
  'acks',
  'bad_frames',
  'empty',
  'pings',
  'pongs',
  'continuations',
  'fast_continuations',
  'connections',
  'requests',
];

const victimEmail = 'victim@example.com';
/** Each attack has a user of its own, since a user has to wait after a flood. */
const emailOf = (attack: string): string => `${attack}@example.com`;
const gapMs = 10;
/** How much slower a request may be than without the flood; the larger of both counts. */
const slowerMax = { times: 5, ms: 50 };
const growthMaxMb = 96;
const flooder = fileURLToPath(new URL('./flooder.program.js', import.meta.url));

export const fuzzFloods: Target = async (run, inputs) => {
  const { verdict } = run;
  const wanted = run.options.attacks === '' ? attacks : run.options.attacks.split(',');
  const unknown = wanted.find((name) => !attacks.includes(name));
  if (unknown !== undefined) throw new Error(`no attack ${unknown}: ${attacks.join(', ')}`);
  // The victim asks more often than its key may.
  const limits = { keyRequestsPerMinute: 1_000_000, loginAttemptsPerMinute: 1_000_000 };
  const emails = [victimEmail, ...wanted.map(emailOf)];
  const gateway = await FuzzedGateway.open(run, 'floods', emails, limits);
  const victim = await gateway.member(victimEmail);
  const terminal = await openTerminal(gateway.url, victim);
  const pid = gateway.process.process.pid as number;
  await serve(20);
  const alone = await serve(inputs);
  const bound = Math.max(slowerMax.ms, slowerMax.times * alone.p99);
  const lines = [`alone: ${text(alone)}`];
  for (const attack of wanted) {
    const attacker = await gateway.member(emailOf(attack));
    const memoryMb = ownMemoryMb(pid);
    const child = endWithTest(
      spawn(process.execPath, [flooder, gateway.url, attacker.sessionToken, attack], {
        stdio: ['ignore', 'pipe', 'inherit'],
      }),
    );
    let ends = '';
    child.stdout.setEncoding('utf8').on('data', (line: string) => (ends = line.trim()));
    const served = await serve(inputs);
    child.kill('SIGKILL');
    const grownMb = ownMemoryMb(pid) - memoryMb;
    lines.push(`${attack}: ${text(served)}, ${grownMb} MB more, ends ${ends}`);
    const rule = `under a flood of ${attack}`;
    verdict.hold(`${rule} nobody else’s request fails`, served.failed.length === 0, () => served);
    verdict.hold(`${rule} nobody else waits`, served.p99 <= bound, () => ({ served, alone }));
    verdict.hold(`${rule} memory stays bounded`, grownMb <= growthMaxMb, () => grownMb);
  }
  await gateway.checkHealth(victim, terminal);
  verdict.hold('the other user’s terminal stays connected', terminal.isOpen, () => terminal.closed);
  terminal.close();
  await gateway.stop();
  return `\n  ${lines.join('\n  ')}\n  ${wanted.length} floods`;

  function serve(requests: number): Promise<Served> {
    return trade(gateway.url, victim, requests);
  }
};

interface Served {
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly failed: readonly string[];
}

/** Submits and reads in turn, one request at a time. */
async function trade(url: string, { key }: Member, requests: number): Promise<Served> {
  const tookMs: number[] = [];
  const failed: string[] = [];
  for (let index = 0; index < requests; index++) {
    const begunAt = performance.now();
    const answer = await (
      index % 2 === 0
        ? submit(url, key, signal())
        : call(url, 'GET', '/api/v1/terminal-events/sources', { headers: bearer(key) })
    ).catch((error: unknown) => ({ status: 0, text: String(error) }));
    tookMs.push(performance.now() - begunAt);
    if (answer.status >= 300 || answer.status === 0) {
      failed.push(`${answer.status} ${answer.text}`);
    }
    await new Promise((resolve) => setTimeout(resolve, gapMs));
  }
  tookMs.sort((a, b) => a - b);
  const quantile = (part: number): number => tookMs[Math.ceil(part * tookMs.length) - 1] ?? 0;
  return { p50: quantile(0.5), p99: quantile(0.99), failed: failed.slice(0, 5) };
}

function text({ p50, p99, failed }: Served): string {
  return `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, ${failed.length} failed`;
}
