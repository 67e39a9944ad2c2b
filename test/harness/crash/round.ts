/**
 * One round: load, a strike, a restart, and everything checked, first against a gateway that no
 * terminal has told anything yet, then with all terminals back and at rest.
 */
import type { Campaign } from './test-run.js';
import { settledWithinMs } from './config.js';
import { examine } from './doctor-check.js';
import { beginLife, calmDown, storm } from './lifecycle.js';
import { fillTheDay, settle } from './retries.js';
import { StatusList } from './status-snapshot.js';
import type { Strike } from './faults.js';

const replaysPerRound = 40;
const commandWithinMs = 5_000;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** @returns what was done, for the run's log. */
export async function playRound(
  campaign: Campaign,
  { name, strike }: { readonly name: string; readonly strike: Strike },
): Promise<string> {
  const { chance, gateway, floor, inspector, operator, archive, copies, verdict } = campaign;
  const loadMs = chance.between(50, 1_500);

  storm(campaign);
  await Promise.all([sleep(loadMs), operator.hasWorked(commandWithinMs)]);
  await strike(campaign);
  await calmDown(campaign);
  await archive.inspect();
  if (chance.happens(0.25)) await examine(gateway.dataDir, verdict, 'the doctor finds it well');
  await copies.inspect();

  await beginLife(campaign);
  await operator.inspectTenants();
  inspector.observe(await floor.tell());
  await inspectSources(campaign);
  await settle(campaign);
  inspector.inspectDeliveries();
  await inspector.inspectMoving('after the crash');
  const before = new StatusList(campaign.ledger);
  await replaySome(campaign);

  floor.go(gateway.url);
  // A day that is full now leaves nothing to accept under the next load.
  if (chance.happens(0.5)) await fillTheDay(campaign);
  await comeToRest(campaign);
  await inspector.inspectMoving('at rest');
  await campaign.audience.inspectTold(before.changes());
  await archive.inspectSwept();
  return `${name} after ${loadMs} ms`;
}

/** A terminal that was there before the crash is known after it. */
async function inspectSources({ traders, inspector, verdict }: Campaign): Promise<void> {
  for (const trader of traders.values()) {
    const answer = await trader.get('/api/v1/terminal-events/sources');
    const instances = (answer?.body?.sources as { instanceId: string }[] | undefined)?.length;
    const expected = inspector.places.get(trader.email)?.length;
    verdict.hold('terminals are known over a crash', instances === expected, () => answer?.body);
  }
}

async function replaySome({ chance, ledger, traders }: Campaign): Promise<void> {
  const accepted = ledger.operations.filter((operation) => operation.accepted !== undefined);
  for (let i = 0; i < replaysPerRound && accepted.length > 0; i++) {
    const operation = chance.pick(accepted);
    await traders.get(operation.name.user)?.attempt(operation);
  }
}

/** All terminals are back and have said all that they had to say, and every reader has heard it. */
async function comeToRest({ floor, inspector, audience, verdict }: Campaign): Promise<void> {
  const unrest = await floor.calm();
  verdict.hold('every report is acknowledged in the end', unrest.length === 0, () => unrest);
  inspector.observe(await floor.tell());
  inspector.inspectDeliveries();
  await audience.calm(inspector.lastWords);
}

/** After the last round: waits until nothing moves any more, and checks everything once more. */
export async function finish(campaign: Campaign): Promise<void> {
  const { floor, gateway, inspector, verdict } = campaign;
  const end = performance.now() + settledWithinMs;
  while ((await inspector.inspectMoving('at rest')) > 0 && performance.now() < end)
    await sleep(200);
  await comeToRest(campaign);
  await inspector.inspectAll();
  floor.end();
  await gateway.drain();
  await examine(gateway.dataDir, verdict, 'the doctor finds it well');
}
