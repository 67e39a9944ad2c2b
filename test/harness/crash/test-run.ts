/**
 * Everything that takes part in a run: one gateway after another on one data directory, its users
 * with their bots, and their terminals. Lives as long as the run.
 */
import { createKey, login } from '../../support/api.js';
import { addUser } from '../../support/gateway-process.js';
import { Chance } from '../chance.js';
import type { Verdict } from '../verdict.js';
import { ApiSwitch } from './api-switch.js';
import { Archive } from './retention-check.js';
import { Audience } from './stream-readers.js';
import { createBusyBot, createPlainBot, type Bot } from './bot.js';
import { configOf, countedPlan, members } from './config.js';
import { Copies } from './backup-check.js';
import { DailyQuota } from './daily-quota.js';
import { GatewayLives } from './gateway-under-test.js';
import { Inspector } from './consistency-check.js';
import { Ledger } from './ledger.js';
import { Load } from './load.js';
import type { TerminalPlace } from './observation.js';
import { Operator } from './operator.js';
import { Tenant } from './tenant.js';
import { TerminalFloor } from './terminals-process.js';
import { Trader } from './trader.js';

export interface Campaign {
  readonly verdict: Verdict;
  readonly chance: Chance;
  readonly gateway: GatewayLives;
  readonly ledger: Ledger;
  readonly traders: ReadonlyMap<string, Trader>;
  readonly load: Load;
  /** Sends plain signals for the user whose day is counted. */
  readonly counted: Bot;
  readonly quota: DailyQuota;
  readonly floor: TerminalFloor;
  readonly inspector: Inspector;
  readonly audience: Audience;
  readonly operator: Operator;
  readonly archive: Archive;
  readonly copies: Copies;
  /** Tells everyone where this life of the gateway is. */
  readonly moveTraders: () => void;
}

const busyBotsPerUser = 2;
const tenantCount = 3;

/** Starts all of it; the gateway serves then. */
export async function openCampaign(
  seed: number,
  dataDir: string,
  verdict: Verdict,
): Promise<Campaign> {
  const chance = new Chance(seed, 'run');
  const gateway = new GatewayLives(dataDir, verdict);
  const emailOf = (name: string): string => `${name}@example.com`;
  for (const { name, plan } of members) addUser(dataDir, emailOf(name), plan);
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
  const places = new Map<string, TerminalPlace[]>();
  const bots: Bot[] = [];
  for (const { name, plan, terminals } of members) {
    const email = emailOf(name);
    const { token, sessionToken } = await login(gateway.url, email);
    const { key } = await createKey(gateway.url, token);
    const trader = new Trader(email, key, ledger);
    traders.set(email, trader);
    places.set(
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
      for (let i = 0; i < busyBotsPerUser; i++) {
        bots.push(createBusyBot(trader, chance.child(`${name}-${i}`)));
      }
    }
  }
  const moveTraders = (): void => {
    for (const trader of traders.values()) trader.url = gateway.url;
  };
  moveTraders();
  const { circumstances } = ledger;
  const audience = new Audience({ verdict, chance, circumstances, traders, places });
  const tenants = Array.from(
    { length: tenantCount },
    (_, i) => new Tenant(emailOf(`tenant-${i + 1}`), verdict, circumstances),
  );
  const apiSwitch = new ApiSwitch({
    dataDir,
    verdict,
    circumstances,
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
    floor: new TerminalFloor(seed, [...places.values()].flat()),
    inspector: new Inspector(ledger, traders, places, audience),
    audience,
    operator: new Operator({
      gateway,
      chance: chance.child('operator'),
      verdict,
      apiSwitch,
      tenants,
    }),
    archive: new Archive(dataDir, verdict),
    copies: new Copies({ dataDir, ledger, traders, tenants }),
    moveTraders,
  };
}
