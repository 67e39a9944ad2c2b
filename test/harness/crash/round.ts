/**
 * One round: load, a fault, a restart, and all checks: first against the restarted gateway before any
 * terminal has reconnected, then with all terminals connected and idle.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { SwitchView } from './key-switches.js';
import type { TestRun } from './test-run.js';
import type { Trader } from './trader.js';
import { settledWithinMs } from './config.js';
import { checkWithDoctor } from './doctor-check.js';
import { startNextWithReaders, stopLoad, startLoad } from './lifecycle.js';
import { exhaustDailyQuota, retryOpenOperations } from './retries.js';
import { StatusSnapshot } from './status-snapshot.js';
import { faults, type FaultName } from './faults.js';

const replaysPerRound = 40;
const commandWithinMs = 5_000;
/** Share of the rounds in which the operator stops trading while no gateway runs. */
const stopsWhileDownShare = 0.2;

/** @returns a summary of the fault for the run's log. */
export async function runRound(run: TestRun, fault: FaultName): Promise<string> {
  const { chance, gateway, terminals, consistency, operator, retention, backups, verdict } = run;
  const loadMs = chance.between(50, 1_500);

  startLoad(run);
  await Promise.all([sleep(loadMs), operator.hasWorked(commandWithinMs)]);
  await faults[fault](run);
  await stopLoad(run);
  await retention.inspect();
  if (chance.happens(0.25))
    await checkWithDoctor(gateway.dataDir, verdict, 'the doctor finds it well');
  await backups.inspect();

  if (chance.happens(stopsWhileDownShare)) await operator.stops.act();
  await startNextWithReaders(run);
  await operator.inspectTenants();
  consistency.observe(await terminals.takeObservations());
  await inspectSources(run);
  await retryOpenOperations(run);
  consistency.inspectDeliveries();
  await consistency.inspectMoving('after the crash');
  const before = new StatusSnapshot(run.ledger);
  await replaySome(run);

  // An execution that a stop ended stays ended, whether the stop ends before the terminals are back or later.
  if (chance.happens(0.5)) await operator.stops.endAll();
  terminals.connectTo(gateway.url);
  await operator.stops.endAll();
  // With the daily quota used up, the next load is refused until the next restart raises it.
  if (chance.happens(0.5)) await exhaustDailyQuota(run);
  await waitUntilIdle(run);
  await consistency.inspectMoving('at rest');
  await run.readers.inspectTold(before.changes());
  await retention.inspectSwept();
  return `${fault} after ${loadMs} ms`;
}

/** A terminal that was known before the crash is known after it. */
async function inspectSources({ traders, consistency, verdict }: TestRun): Promise<void> {
  for (const trader of traders.values()) {
    const answer = await trader.get('/api/v1/terminal-events/sources');
    const instances = (answer?.body?.sources as { instanceId: string }[] | undefined)?.length;
    const expected = consistency.identities.get(trader.email)?.length;
    verdict.hold('terminals are known over a crash', instances === expected, () => answer?.body);
  }
}

/** Waits until every switch that may be armed has fired, since none may fire between the checks. */
async function inspectSwitches({ chance, traders, ledger, verdict }: TestRun): Promise<void> {
  const { switches } = ledger;
  for (const trader of traders.values()) {
    for (const apiKey of new Set([trader.key, trader.submitKey])) {
      if (!switches.byKey.has(apiKey)) continue;
      await inspectSwitch(trader, apiKey);
      if (chance.happens(0.5)) await trader.setSwitch(apiKey, 0);
    }
  }
  await sleep(Math.max(0, switches.settledAt - Date.now()));
  for (const trader of traders.values()) {
    for (const apiKey of new Set([trader.key, trader.submitKey])) {
      if (switches.byKey.has(apiKey)) await inspectSwitch(trader, apiKey);
    }
  }

  async function inspectSwitch(trader: Trader, apiKey: string): Promise<void> {
    const answer = await trader.get('/api/v1/cancel-after', apiKey);
    // A revoked key cannot read its switch; its orders show whether it fired.
    if (answer?.status !== 200) return;
    const view = answer.body as SwitchView;
    const keySwitch = switches.of(apiKey);
    for (const [rule, holds] of keySwitch.judge(view, switches.upSince)) {
      verdict.hold(rule, holds, () => ({ user: trader.email, view, keySwitch }));
    }
  }
}

async function replaySome({ chance, ledger, traders }: TestRun): Promise<void> {
  const accepted = ledger.operations.filter((operation) => operation.accepted !== undefined);
  for (let i = 0; i < replaysPerRound && accepted.length > 0; i++) {
    const operation = chance.pick(accepted);
    await traders.get(operation.name.user)?.attempt(operation);
  }
}

/** Waits until every terminal's reports are acknowledged and every reader has received its events. */
async function waitUntilIdle(run: TestRun): Promise<void> {
  const { terminals, consistency, readers, verdict } = run;
  await inspectSwitches(run);
  const pendingWork = await terminals.waitUntilIdle();
  verdict.hold(
    'every report is acknowledged in the end',
    pendingWork.length === 0,
    () => pendingWork,
  );
  consistency.observe(await terminals.takeObservations());
  consistency.inspectDeliveries();
  await readers.waitUntilIdle(consistency.lastEventSeqs);
}

/** After the last round: waits until no execution can change any more, and checks all of them again. */
export async function finish(run: TestRun): Promise<void> {
  const { terminals, gateway, consistency, verdict } = run;
  const end = performance.now() + settledWithinMs;
  while ((await consistency.inspectMoving('at rest')) > 0 && performance.now() < end)
    await sleep(200);
  await waitUntilIdle(run);
  await consistency.inspectAll();
  terminals.end();
  await gateway.drain();
  await checkWithDoctor(gateway.dataDir, verdict, 'the doctor finds it well');
}
