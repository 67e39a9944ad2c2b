/**
 * Everything that takes part in a run: one gateway process after another on one data directory, its
 * users with their bots and terminals, and the checks.
 */
import { createKey, login } from '../../support/api.js';
import { addUser } from '../../support/gateway-process.js';
import { Chance } from '../chance.js';
import type { Verdict } from '../verdict.js';
import { ApiSwitch } from './api-switch.js';
import { RetentionCheck } from './retention-check.js';
import { StreamReaders } from './stream-readers.js';
import { createBusyBot, createPlainBot, type Bot } from './bot.js';
import { configOf, countedPlan, members } from './config.js';
import { BackupCheck } from './backup-check.js';
import { DailyQuota } from './daily-quota.js';
import { GatewayUnderTest } from './gateway-under-test.js';
import { ConsistencyCheck } from './consistency-check.js';
import { Ledger } from './ledger.js';
import { Load } from './load.js';
import type { TerminalIdentity } from './observation.js';
import { Operator } from './operator.js';
import { Tenant } from './tenant.js';
import { TerminalsProcess } from './terminals-process.js';
import { Trader } from './trader.js';

export interface TestRun {
  readonly verdict: Verdict;
  readonly chance: Chance;
  readonly gateway: GatewayUnderTest;
  readonly ledger: Ledger;
  readonly traders: ReadonlyMap<string, Trader>;
  readonly load: Load;
  /** Submits signals for the user with a small daily limit. */
  readonly counted: Bot;
  readonly quota: DailyQuota;
  readonly terminals: TerminalsProcess;
  readonly consistency: ConsistencyCheck;
  readonly readers: StreamReaders;
  readonly operator: Operator;
  readonly retention: RetentionCheck;
  readonly backups: BackupCheck;
  /** Gives every trader the URL of the current gateway process. */
  readonly updateTraderUrls: () => void;
}

const busyBotsPerUser = 2;
const tenantCount = 3;

/** Resolves when the gateway is ready and every user has logged in. */
export async function openTestRun(
  seed: number,
  dataDir: string,
  verdict: Verdict,
): Promise<TestRun> {
  const chance = new Chance(seed, 'run');
  const gateway = new GatewayUnderTest(dataDir, verdict);
  const emailOf = (name: string): string => `${name}@example.com`;
  for (const { name, plan } of members) await addUser(dataDir, emailOf(name), plan);
  const quota = new DailyQuota();
  quota.limit = 10;
  await gateway.start(configOf(quota.limit));

  const ledger = new Ledger(
    verdict,
    new Map(
      members.filter(({ plan }) => plan === countedPlan).map(({ name }) => [emailOf(name), quota]),
    ),
  );
  const traders = new Map<string, Trader>();
  const identities = new Map<string, TerminalIdentity[]>();
  const bots: Bot[] = [];
  for (const { name, plan, terminals } of members) {
    const email = emailOf(name);
    const { token, sessionToken } = await login(gateway.url, email);
    const { key } = await createKey(gateway.url, token);
    const trader = new Trader(email, key, ledger);
    traders.set(email, trader);
    identities.set(
      email,
      terminals.map((source) => ({
        ...source,
        id: `${name} ${source.platform} ${source.instanceId}`,
        sessionToken,
      })),
    );
    if (plan === countedPlan) {
      bots.push(createPlainBot(trader, chance.child(name)));
    } else {
      const submitKey = await createKey(gateway.url, token);
      trader.submitKey = submitKey.key;
      trader.submitKeyId = submitKey.id;
      for (let i = 0; i < busyBotsPerUser; i++) {
        bots.push(createBusyBot(trader, chance.child(`${name}-${i}`)));
      }
    }
  }
  const updateTraderUrls = (): void => {
    for (const trader of traders.values()) trader.url = gateway.url;
  };
  updateTraderUrls();
  const { conditions } = ledger;
  const readers = new StreamReaders({
    verdict,
    chance,
    conditions,
    gateway,
    traders,
    identities,
  });
  const tenants = Array.from(
    { length: tenantCount },
    (_, i) => new Tenant(emailOf(`tenant-${i + 1}`), verdict, conditions),
  );
  const apiSwitch = new ApiSwitch({
    dataDir,
    verdict,
    conditions,
    key: [...traders.values()][0]?.key ?? '',
  });
  return {
    verdict,
    chance,
    gateway,
    ledger,
    traders,
    load: new Load(bots),
    counted: bots.at(-1) as Bot,
    quota,
    terminals: new TerminalsProcess(seed, [...identities.values()].flat()),
    consistency: new ConsistencyCheck(ledger, traders, identities, readers),
    readers,
    operator: new Operator({
      gateway,
      chance: chance.child('operator'),
      verdict,
      ledger,
      apiSwitch,
      tenants,
      traders: [...traders.values()],
    }),
    retention: new RetentionCheck(dataDir, verdict),
    backups: new BackupCheck({ dataDir, ledger, traders, tenants }),
    updateTraderUrls,
  };
}
