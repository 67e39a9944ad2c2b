/**
 * Makes one recording: a few lives of a gateway with bots, terminals and an operator at work, and the facts
 * that follow. A kill or a power cut ends each life, SIGTERM the last.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { SourceName } from '../../../src/model/source-name.js';
import { post } from '../../support/api.js';
import { password } from '../../support/gateway-process.js';
import type { Chance } from '../chance.js';
import { Bot } from '../crash/bot.js';
import { configOf, countedPlan, members } from '../crash/config.js';
import { Ledger } from '../crash/ledger.js';
import { Load } from '../crash/load.js';
import type { TerminalIdentity } from '../crash/observation.js';
import { retryOpenOperations } from '../crash/retries.js';
import { TerminalsProcess } from '../crash/terminals-process.js';
import type { Verdict } from '../verdict.js';
import { Commands } from './commands.js';
import { collectFacts } from './collect-facts.js';
import type { Departures } from './departures.js';
import type { Facts, LoginFact } from './facts.js';
import type { FateName } from './power-cut.js';
import { RecordedTrader } from './recorded-trader.js';
import { Recorder } from './recorder.js';

export interface Recording {
  readonly recorder: Recorder;
  readonly facts: Facts;
}

const livesCount = 3;
const lanes = 3;
/** Signals accepted in each life, and after how many of them the operator runs a command. */
const signalsPerLife = 60;
const signalsPerCommand = 8;
const actions = {
  submit: 45,
  read: 20,
  cancel: 15,
  cancelAll: 3,
  replay: 8,
  concurrentRetries: 5,
  conflict: 2,
  duplicate: 2,
} as const;
const endings = {
  'the power stays on': 3,
  'what is synced': 1,
  'little, torn': 2,
  'most, torn': 2,
};
/** After this time a life ends with fewer signals. */
const lifeMsMax = 20_000;
const scopes = ['orders:cancel', 'signals:read', 'signals:write'];
const traders = members.filter(({ plan }) => plan !== countedPlan);
const tenants = ['tenant-1@example.com', 'tenant-2@example.com'];

export async function makeRecording(
  directory: string,
  chance: Chance,
  verdict: Verdict,
): Promise<Recording> {
  const recorder = new Recorder(directory, chance.child('disk'), verdict);
  const ledger = new Ledger(verdict, new Map());
  const commands = new Commands(
    recorder.dataDir,
    chance.child('commands'),
    verdict,
    ledger.conditions,
    tenants,
  );
  const config = configOf();
  const cast = new Cast(ledger, chance);

  for (let life = 1; life <= livesCount; life++) {
    const { url } = await recorder.start(config);
    if (life === 1) await cast.enter(url, commands);
    cast.connectTo(url);
    await retryOpenOperations({ ledger, traders: cast.traders, verdict });
    await cast.work(commands);
    const isLast = life === livesCount;
    const ending = chance.weigh(endings);
    if (isLast) await cast.rest();
    if (isLast) await recorder.stop();
    else
      await recorder.kill(
        ending === 'the power stays on' ? undefined : (ending satisfies FateName),
      );
    await cast.rest();
  }
  return { recorder, facts: await cast.leave(recorder.departures, commands) };
}

/** The users with their bots and terminals. */
class Cast {
  readonly traders = new Map<string, RecordedTrader>();
  #terminals: TerminalsProcess | undefined;
  #load = new Load([]);

  constructor(
    readonly ledger: Ledger,
    readonly chance: Chance,
  ) {}

  async enter(url: string, commands: Commands): Promise<void> {
    const identities: TerminalIdentity[] = [];
    for (const { name, plan, terminals } of traders) {
      const email = emailOf(name);
      await commands.addUser(email, plan);
      const login = await post(url, '/api/auth/login', { email, password });
      const { token, sessionToken } = login.body as LoginFact;
      const made = await post(url, '/api/api-keys', { name: 'bot', scopes }, token);
      const trader = new RecordedTrader(email, made.body.key as string, this.ledger);
      trader.entered = { login, made };
      this.traders.set(email, trader);
      for (const source of terminals) {
        identities.push({ ...source, id: terminalId(email, source), sessionToken });
      }
    }
    this.#terminals = new TerminalsProcess(this.chance.between(0, 2 ** 31), identities);
    this.#load = new Load(
      [...this.traders.values()].map(
        (trader) => new Bot(trader, this.chance.child(trader.email), actions, lanes),
      ),
    );
  }

  connectTo(url: string): void {
    for (const trader of this.traders.values()) trader.url = url;
    this.#terminals?.connectTo(url);
  }

  /** Runs load and commands until enough signals are accepted, or for the longest life. */
  async work(commands: Commands): Promise<void> {
    this.#terminals?.startLoad();
    this.#load.start();
    const { requests } = this.ledger;
    const before = requests.size;
    const end = performance.now() + lifeMsMax;
    for (let wanted = 0; wanted < signalsPerLife; wanted += signalsPerCommand) {
      while (requests.size < before + wanted && performance.now() < end) await sleep(5);
      await commands.act();
    }
  }

  /** Resolves when no request is under way. */
  rest(): Promise<void> {
    return this.#load.stop();
  }

  async leave(departures: Departures, { changes }: Commands): Promise<Facts> {
    const observations = (await this.#terminals?.takeObservations()) ?? [];
    this.#terminals?.end();
    const { verdict, operations } = this.ledger;
    const terminals = traders.flatMap(({ name, terminals }) =>
      terminals.map((source) => {
        const user = emailOf(name);
        return { ...source, user, id: terminalId(user, source) };
      }),
    );
    const told = {
      traders: [...this.traders.values()],
      terminals,
      observations,
      operations,
      changes,
    };
    return collectFacts(told, departures, verdict);
  }
}

function emailOf(name: string): string {
  return `${name}@example.com`;
}

function terminalId(user: string, { platform, instanceId }: SourceName): string {
  return `${user} ${platform} ${instanceId}`;
}
