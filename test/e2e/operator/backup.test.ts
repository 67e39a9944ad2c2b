/**
 * A backup taken under full load, and what a gateway that is started with it says: held against the
 * log of the crash test, as if the gateway had crashed at the moment when the backup began.
 */
import { statSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import '../../support/alone.js';
import { openTestRun } from '../../harness/crash/test-run.js';
import { configOf } from '../../harness/crash/config.js';
import { AcknowledgedState } from '../../harness/crash/acknowledged-state.js';
import { runCommand } from '../../support/command.js';
import { eventually } from '../../support/eventually.js';
import { startGateway } from '../../support/gateway-process.js';
import { Verdict } from '../../harness/verdict.js';

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 32));
const signalsBefore = 300;

t.test(`all that was acknowledged before a backup began is in it (seed ${seed})`, async (t) => {
  const directory = t.testdir();
  const verdict = new Verdict();
  const run = await openTestRun(seed, join(directory, 'data'), verdict);
  const { gateway, ledger, load, terminals } = run;
  t.teardown(() => gateway.kill());
  t.teardown(() => terminals.end());
  terminals.connectTo(gateway.url);
  await terminals.waitUntilIdle();
  terminals.startLoad();
  load.start();
  await eventually(() => ledger.requests.size >= signalsBefore, 60_000);

  const acknowledged = new AcknowledgedState(ledger);
  const backup = join(directory, 'backup');
  const { code, stderr, stdout } = await runCommand([
    'backup',
    backup,
    '--json',
    '--data-dir',
    gateway.dataDir,
  ]);
  const during = ledger.requests.size - acknowledged.requests.length;
  await load.stop();
  t.equal(code, 0, stderr);
  t.ok(during > 0, `${during} signals were accepted while it was written`);
  t.match(JSON.parse(stdout), {
    directory: backup,
    files: ['jwt-secret', 'copy', 'log/00000000.log', 'data.mdb'],
  });
  t.equal(statSync(backup).mode & 0o777, 0o700);
  for (const name of readdirSync(backup)) {
    t.equal(statSync(join(backup, name)).mode & 0o777, name === 'log' ? 0o700 : 0o600, name);
  }

  const doctor = await runCommand(['doctor', '--json', '--data-dir', backup]);
  const findings = JSON.parse(doctor.stdout).findings as { check: string; level: string }[];
  t.match(
    findings.filter(({ check }) => check === 'store'),
    [{ level: 'ok' }],
    'nothing in it is half',
  );

  const copy = await startGateway({ dataDir: backup, config: configOf(1_000_000) });
  t.teardown(() => copy.kill());
  await acknowledged.inspect(copy.url, run.traders, verdict);
  const { answers, requests } = acknowledged;
  t.ok(
    answers.length >= requests.length,
    `${answers.length} operations, ${requests.length} signals`,
  );
  t.ok(verdict.checks > 1_000, `${verdict.checks} checks`);
  t.same(verdict.violations, []);
});
