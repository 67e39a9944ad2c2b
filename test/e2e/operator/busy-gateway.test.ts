/** Commands by the dozen, some of them killed or stopped, beside a gateway that accepts signals. */
import { readdirSync, readlinkSync } from 'node:fs';
import t from 'tap';
import { signal, submit } from '../../support/api.js';
import { startCommand } from '../../support/command.js';
import { startTestGateway } from '../../support/gateway.js';
import { Chance } from '../../harness/chance.js';

const commands = 24;
const together = 4;
const stoppedMs = 500;
const pauseMs = 20;

const email = 'changed@example.com';
const gateway = await startTestGateway(t, {
  emails: [email],
  limits: { keyRequestsPerMinute: 100_000 },
});
const { dataDir } = gateway;
const commandLines = [
  ['user', 'set', email, '--frozen', 'true'],
  ['user', 'show', email],
  ['user', 'list'],
  ['session', 'revoke', email],
  ['key', 'list', email],
];

/** Processes other than the gateway that have a file of the store open. Linux tells. */
function foreignOpeners(): string[] {
  const others = readdirSync('/proc').filter(
    (name) => /^\d+$/.test(name) && Number(name) !== gateway.process.process.pid,
  );
  return others.filter((pid) => openFilesOf(pid).some((path) => path.startsWith(`${dataDir}/`)));
}

function openFilesOf(pid: string): string[] {
  try {
    const paths = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
    return paths.filter((path) => path.endsWith('.mdb'));
  } catch {
    // The process has ended meanwhile, or has closed a descriptor.
    return [];
  }
}

t.test('no accept fails while commands run, are killed and are stopped', async (t) => {
  const user = await gateway.user();
  const seed = Math.floor(Math.random() * 2 ** 32);
  t.comment(`seed ${seed}`);
  const chance = new Chance(seed, 'busy gateway');
  const statuses: number[] = [];
  const openers: string[] = [];
  const codes: (number | null)[] = [];
  let left = commands;

  async function post(): Promise<void> {
    while (codes.length < commands) {
      statuses.push((await submit(gateway.url, user.key, signal())).status);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
  async function command(): Promise<void> {
    while (left-- > 0) {
      const { process: child, ended } = startCommand([
        ...(commandLines[left % commandLines.length] as string[]),
        ...['--data-dir', dataDir],
      ]);
      const strikeAfterMs = chance.between(0, 500);
      const kind = chance.between(0, 3);
      if (kind === 0) setTimeout(() => child.kill('SIGKILL'), strikeAfterMs);
      if (kind === 1) {
        setTimeout(() => child.kill('SIGSTOP'), strikeAfterMs);
        setTimeout(() => child.kill('SIGCONT'), strikeAfterMs + stoppedMs);
      }
      codes.push((await ended).code);
      if (process.platform === 'linux') openers.push(...foreignOpeners());
    }
  }
  await Promise.all([post(), post(), ...Array.from({ length: together }, command)]);

  t.comment(`${statuses.length} signals, ${codes.filter((code) => code === null).length} killed`);
  t.same([...new Set(statuses)], [202]);
  t.same(
    [...new Set(codes)].filter((code) => code !== 0 && code !== null),
    [],
  );
  t.same(openers, [], 'only the gateway has the store open');
});
