/** The faults of the crash harness: the ways in which a gateway process ends under load. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestRun } from './test-run.js';
import { canBreakDisk } from '../disk/write-failure.js';
import { AcknowledgedState } from './acknowledged-state.js';
import { stopLoad, startLoad, startNext } from './lifecycle.js';
import { exhaustDailyQuota, retryOpenOperations } from './retries.js';

type Fault = (run: TestRun) => Promise<void>;

const commandWithinMs = 3_000;
/** The newest signals and operations that are looked up in a copy. */
const checkedInCopy = 150;

async function breakDisk({ gateway, ledger, chance }: TestRun): Promise<void> {
  ledger.conditions.isDiskDead = true;
  gateway.breakDisk();
  await gateway.waitUnready();
  await sleep(chance.between(0, 600));
}

export const faults = {
  'killed under load': ({ gateway }) => gateway.kill(),
  'killed while draining': ({ gateway, ledger, chance }) => {
    ledger.conditions.isDraining = true;
    return gateway.drain(chance.between(0, 250));
  },
  'drained under load': ({ gateway, ledger }) => {
    ledger.conditions.isDraining = true;
    return gateway.drain();
  },
  'killed with a command under load': async ({ gateway, operator, chance }) => {
    const command = await operator.nextCommand(commandWithinMs);
    await sleep(command?.msUntil(chance.between(50, 105) / 100) ?? 0);
    if (chance.happens(0.7)) command?.kill();
    await gateway.kill();
  },
  'killed while sweeping under load': async (run) => {
    const { gateway, terminals, retention, chance } = run;
    await gateway.kill();
    await stopLoad(run);
    await retention.seed();
    // The sweep begins with the start and takes less than a second.
    await startNext(run);
    terminals.connectTo(gateway.url);
    startLoad(run);
    await sleep(chance.between(0, 900));
    await gateway.kill();
  },
  'killed during a backup under load': async ({ gateway, ledger, backups, chance }) => {
    const command = backups.begin(new AcknowledgedState(ledger, checkedInCopy));
    const victim = chance.pick(['gateway', 'backup', 'both', 'none']);
    if (victim === 'none') await command.ended;
    else await sleep(command.msUntil(chance.between(60, 105) / 100));
    if (victim === 'backup' || victim === 'both') command.kill();
    if (victim === 'backup') await sleep(chance.between(0, 100));
    if (victim === 'gateway') backups.loseGateway();
    await gateway.kill();
  },
  'killed with a dead disk': async (run) => {
    await breakDisk(run);
    await run.gateway.kill();
  },
  'killed after its disk came back': async (run) => {
    const { gateway, operator, chance } = run;
    await breakDisk(run);
    gateway.mendDisk();
    await gateway.waitMended();
    await sleep(chance.between(0, 400));
    // A retry must settle what was in doubt without a restart.
    if (gateway.isAlive && chance.happens(0.8)) {
      await stopLoad(run);
      // The dead disk may have kept the operator from opening the Public API again.
      await operator.inspectSwitch();
      await retryOpenOperations(run);
      await exhaustDailyQuota(run);
    }
    await gateway.kill();
  },
} as const satisfies Record<string, Fault>;

export type FaultName = keyof typeof faults;

export const faultWeights: Readonly<Record<FaultName, number>> = {
  'killed under load': 22,
  'killed while draining': 16,
  'drained under load': 8,
  'killed with a command under load': 14,
  'killed while sweeping under load': 10,
  'killed during a backup under load': 14,
  'killed with a dead disk': canBreakDisk ? 8 : 0,
  'killed after its disk came back': canBreakDisk ? 8 : 0,
};
