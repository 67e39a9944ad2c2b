/** Backups, exports and imports that are killed at any moment, beside a gateway that runs. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { executionIdOf, requestIdOf } from '../../../src/lib/ids.js';
import { openStore } from '../../../src/store/lmdb-store.js';
import { readUserFileHead } from '../../../src/transfer/user-file.js';
import { Chance } from '../../harness/chance.js';
import { acceptedSignal } from '../../support/accepted-signal.js';
import { runCommand, startCommand, storeFinding } from '../../support/command.js';
import { signalboxIn } from '../../support/in-process.js';
import { eventually, until } from '../../support/eventually.js';
import { stagedIn } from '../../support/staged-copies.js';
import { dataDirOf } from '../../support/gateway.js';
import { addUser, type GatewayProcess, startGateway } from '../../support/gateway-process.js';

const ann = 'ann@example.com';
const signals = 2_000;
const rounds = 4;
const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 32));
const chance = new Chance(seed, 'killed copies');
t.setTimeout(600_000);
t.comment(`seed ${seed}`);

async function aDirectory(t: Test): Promise<string> {
  const dataDir = dataDirOf(t);
  await addUser(dataDir, ann);
  const store = openStore(dataDir);
  const userId = store.get('emails', ann) as string;
  for (let i = 0; i < signals;) {
    await store.write((batch) => {
      for (let n = 0; n < 500; n++, i++) {
        const requestId = requestIdOf(`01${String(i).padStart(24, '0')}`);
        const { request, execution } = acceptedSignal({ userId });
        const executionId = executionIdOf(requestId, 0);
        const final = { ...execution, executionId, requestId, status: 'denied' as const };
        const signalId = `signal-${i}`;
        batch.put('requests', [userId, requestId], { ...request, requestId, signalId });
        batch.put('signalIds', [userId, signalId], requestId);
        batch.put('finalExecutions', [userId, executionId], final);
      }
    });
  }
  await store.close();
  return dataDir;
}

/** Runs a command often, killed at a random moment of its usual time. `look` follows each run. */
async function killed(
  args: (round: number) => readonly string[] | Promise<readonly string[]>,
  look: (round: number, isDone: boolean) => Promise<void>,
): Promise<number> {
  const first = await args(0);
  const begunAt = performance.now();
  const whole = await runCommand(first);
  const usualMs = performance.now() - begunAt;
  if (whole.code !== 0) throw new Error(whole.stderr);
  await look(0, true);
  let kills = 0;
  for (let round = 1; round <= rounds; round++) {
    const command = startCommand(await args(round));
    const timer = setTimeout(
      () => command.process.kill('SIGKILL'),
      chance.between(Math.floor(usualMs / 4), Math.ceil(usualMs * 0.9)),
    );
    const { code } = await command.ended;
    clearTimeout(timer);
    if (code !== 0) kills++;
    await look(round, code === 0);
  }
  return kills;
}

t.test('a killed backup leaves no copy in the data directory, and is whole or none', async (t) => {
  const dataDir = await aDirectory(t);
  const gateway = await startGateway({ dataDir });
  t.teardown(() => gateway.kill());
  const target = (round: number): string => `${dataDir}-${round}`;
  const kills = await killed(
    (round) => ['backup', target(round), '--data-dir', dataDir],
    async (round, isDone) => {
      await eventually(() => stagedIn(dataDir).length === 0);
      const isWhole = existsSync(join(target(round), 'data.mdb'));
      if (isDone) t.ok(isWhole);
      if (isWhole) t.match(await storeFinding(target(round)), { level: 'ok' });
      rmSync(target(round), { recursive: true, force: true });
    },
  );
  t.comment(`${kills} of ${rounds} killed`);
  t.equal(await gateway.stop(), 0);
});

t.test('a killed export leaves a whole file or none', async (t) => {
  const dataDir = await aDirectory(t);
  const gateway = await startGateway({ dataDir });
  t.teardown(() => gateway.kill());
  const file = (round: number): string => `${dataDir}-${round}.jsonl`;
  const kills = await killed(
    (round) => ['user', 'export', ann, file(round), '--freeze', '--data-dir', dataDir],
    (round, isDone) => {
      if (isDone) t.ok(existsSync(file(round)));
      if (existsSync(file(round))) t.match(readUserFileHead(file(round)), { email: ann });
      return Promise.resolve();
    },
  );
  t.comment(`${kills} of ${rounds} killed`);
  const target = `${dataDir}-target`;
  t.match(await signalboxIn(target, ['user', 'import', file(0)]), { code: 0 });
  t.equal(await gateway.stop(), 0);
});

t.test('a killed import is done or not done, and is done by the next one', async (t) => {
  const from = await aDirectory(t);
  const file = `${from}.jsonl`;
  t.match(await signalboxIn(from, ['user', 'export', ann, file, '--freeze']), { code: 0 });
  const targets: { readonly dataDir: string; readonly gateway: GatewayProcess }[] = [];
  t.teardown(() => Promise.all(targets.map(({ gateway }) => gateway.kill())));
  let half = 0;
  const kills = await killed(
    async (round) => {
      const dataDir = `${from}-to-${round}`;
      await addUser(dataDir, 'bob@example.com');
      targets.push({ dataDir, gateway: await startGateway({ dataDir }) });
      return ['user', 'import', file, '--data-dir', dataDir];
    },
    async (round, isDone) => {
      const { dataDir, gateway } = targets[round] as (typeof targets)[number];
      const isThere = (await signalboxIn(dataDir, ['user', 'show', ann])).code === 0;
      if (isDone) t.ok(isThere);
      if (!isThere) {
        if ((await storeLevel(dataDir)) === 'warning') half++;
        // While the disk hangs, the gateway has not ended the import that was cut off.
        const again = await until(
          () => signalboxIn(dataDir, ['user', 'import', file]),
          ({ stderr }) => !stderr.includes('Wait until it has ended'),
        );
        // The gateway may have had the whole file, and have finished the import meanwhile.
        const isDoneMeanwhile = again.stderr.includes('here already');
        t.match(again, { code: isDoneMeanwhile ? 1 : 0 }, again.stderr);
        t.match(await signalboxIn(dataDir, ['user', 'show', ann]), { code: 0 });
      }
      t.match(await storeFinding(dataDir), { level: 'ok' }, 'whole');
      t.equal(await gateway.stop(), 0);
    },
  );
  t.comment(`${kills} of ${rounds} killed, ${half} of them half-way`);
});

/** A warning reports the rows of an import that was cut off. */
async function storeLevel(dataDir: string): Promise<string> {
  const { stdout } = await signalboxIn(dataDir, ['doctor', '--port', '0']);
  return /^warning +store /m.test(stdout) ? 'warning' : 'ok';
}
