/**
 * A backup taken under full load, and what a gateway that is started with it says: held against the
 * log of the crash test, as if the gateway had crashed at the moment when the backup began.
 */
import { statSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { openCampaign } from '../../fault/campaign.js';
import { configOf } from '../../fault/config.js';
import { History, type RequestView } from '../../fault/history.js';
import type { AcceptedRequest } from '../../fault/ledger.js';
import { bearer, call, json } from '../../support/api.js';
import { runCommand } from '../../support/command.js';
import { eventually } from '../../support/eventually.js';
import { startGateway } from '../../support/gateway-process.js';
import { Verdict } from '../../support/verdict.js';

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 32));
const signalsBefore = 300;
t.setTimeout(240_000);

interface Known {
  readonly request: AcceptedRequest;
  /** As it was last read before the backup began. */
  readonly view: RequestView | undefined;
}

t.test(`all that was acknowledged before a backup began is in it (seed ${seed})`, async (t) => {
  t.setTimeout(240_000);
  const directory = t.testdir();
  const verdict = new Verdict();
  const campaign = await openCampaign(seed, join(directory, 'data'), verdict);
  const { gateway, ledger, load, floor } = campaign;
  t.teardown(() => {
    gateway.abandon();
    floor.end();
  });
  floor.go(gateway.url);
  await floor.calm();
  floor.storm();
  load.start();
  await eventually(() => ledger.requests.size >= signalsBefore, 60_000);

  const known = [...ledger.requests.values()].map((request): Known => ({
    request,
    view: request.history.last,
  }));
  const accepted = ledger.operations.filter(({ accepted }) => accepted !== undefined);
  const answers = accepted.map((operation) => ({ operation, text: operation.accepted as string }));
  const backup = join(directory, 'backup');
  const { code, stderr, stdout } = await runCommand([
    'backup',
    backup,
    '--json',
    '--data-dir',
    gateway.dataDir,
  ]);
  const during = ledger.requests.size - known.length;
  await load.stop();
  t.equal(code, 0, stderr);
  t.ok(during > 0, `${during} signals were accepted while it was written`);
  t.match(JSON.parse(stdout), { directory: backup, files: ['jwt-secret', 'data.mdb'] });
  t.equal(statSync(backup).mode & 0o777, 0o700);
  for (const name of readdirSync(backup)) {
    t.equal(statSync(join(backup, name)).mode & 0o777, 0o600, name);
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
  for (const { operation, text } of answers) {
    const { user, key, path, body } = operation.name;
    const answer = await call(copy.url, 'POST', path, {
      headers: {
        ...bearer(keyOf(user)),
        'idempotency-key': key,
        ...(body === '' ? {} : json),
      },
      ...(body === '' ? {} : { body }),
    });
    const isSame = answer.text === text && answer.headers.get('idempotent-replayed') === 'true';
    verdict.hold('a 202 is replayed byte for byte', isSame, () => ({ text, now: answer.text }));
  }
  for (const { request, view } of known) {
    const answer = await call(copy.url, 'GET', `/api/v1/signals/${request.requestId}`, {
      headers: bearer(keyOf(request.user)),
    });
    verdict.hold('an accepted signal is there', answer.status === 200, () => request);
    if (view === undefined || answer.status !== 200) continue;
    const history = new History();
    history.note(view, 0, 1, verdict);
    history.note(answer.body as RequestView, 2, 3, verdict);
  }
  t.ok(answers.length >= known.length, `${answers.length} operations, ${known.length} signals`);
  t.ok(verdict.checks > 1_000, `${verdict.checks} checks`);
  t.same(verdict.violations, []);

  function keyOf(user: string): string {
    return campaign.traders.get(user)?.key ?? '';
  }
});
