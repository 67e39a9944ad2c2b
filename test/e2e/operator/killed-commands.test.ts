/** Commands that are killed at any moment, with SIGKILL, while a gateway carries them out. */
import t from 'tap';
import { perform } from '../../../src/admin/client.js';
import { shippedSettings } from '../../support/shipped-settings.js';
import { Chance } from '../../harness/chance.js';
import { runCommand, startCommand, storeFinding } from '../../support/command.js';
import { dataDirOf } from '../../support/gateway.js';
import { startGateway } from '../../support/gateway-process.js';
import { addUsers } from '../../support/users.js';

const commands = 30;
const together = 2;

const deeds = {
  delete: { args: (email: string) => ['user', 'delete', email], isDone: isGone },
  plan: { args: (email: string) => ['user', 'set', email, '--plan', 'basic'], isDone: isBasic },
} as const;

interface Found {
  readonly user?: { readonly plan: string };
}
function isGone({ user }: Found): boolean {
  return user === undefined;
}
function isBasic({ user }: Found): boolean {
  return user?.plan === 'basic';
}

t.test(
  'a command that reported success is in effect, a killed one is whole or not at all',
  async (t) => {
    const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 32));
    t.comment(`seed ${seed}`);
    const chance = new Chance(seed, 'killed commands');
    const dataDir = dataDirOf(t);
    const emails = Array.from({ length: commands }, (_, i) => `user-${i}@example.com`);
    await addUsers(dataDir, emails);
    const gateway = await startGateway({ dataDir });
    t.teardown(() => gateway.kill());

    const startedAt = performance.now();
    await runCommand(['user', 'list', '--data-dir', dataDir]);
    // Time of the latest command that was not killed, with others beside it: the machine's load changes.
    let usualMs = (performance.now() - startedAt) * together;
    const counts = { done: 0, killed: 0, killedAndDone: 0 };
    const todo = [...emails.entries()];
    async function work(): Promise<void> {
      for (let next = todo.shift(); next !== undefined; next = todo.shift()) {
        const [index, email] = next;
        const { args, isDone } = index % 2 === 0 ? deeds.delete : deeds.plan;
        const begunAt = performance.now();
        const command = startCommand([...args(email), '--data-dir', dataDir]);
        const timer = setTimeout(
          () => command.process.kill('SIGKILL'),
          chance.between(Math.floor(usualMs / 4), Math.ceil(usualMs * 1.2)),
        );
        const { code, stderr } = await command.ended;
        clearTimeout(timer);
        const endedAt = performance.now();
        const found = (await perform({ dataDir, ...shippedSettings }, 'user.show', {
          email,
        })) as Found;
        if (code === 0) {
          usualMs = endedAt - begunAt;
          counts.done++;
          t.ok(isDone(found), `${args(email).join(' ')} is in effect`);
        } else {
          // A command gives up by itself only if it or the gateway stood still for seconds.
          if (code !== null) t.match(stderr, / does not answer, | has not reported its outcome\./);
          usualMs *= 1.2;
          counts.killed++;
          if (isDone(found)) counts.killedAndDone++;
        }
      }
    }
    await Promise.all(Array.from({ length: together }, work));
    t.comment(JSON.stringify(counts));
    t.ok(counts.done > 0 && counts.killed > 0, 'some of each');

    t.match(await storeFinding(dataDir), { level: 'ok' }, 'nothing is half');
    t.equal(await gateway.stop(), 0);
    t.match(await storeFinding(dataDir), { level: 'ok' });
  },
);
