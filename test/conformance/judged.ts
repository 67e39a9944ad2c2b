/**
 * A paper terminal before its judge, with a fault on the wire between them. Both live by a clock that is
 * faster than the machine's, so that delays are short while waits for an answer stay long.
 */
import type { Clock } from '../../src/lib/clock.js';
import { systemClock } from '../../src/lib/clock.js';
import { openJudge, type RuleName, type Verdict } from '../../src/conformance/judge.js';
import { createPaperTerminal, type PaperTerminal } from '../../src/terminal/paper-terminal.js';
import { logIn } from '../../src/terminal/session-login.js';
import { openCrookedWire } from './crooked-wire.js';
import type { Fault } from './faults.js';

const speed = 5;
const start = { now: systemClock.now(), monotonic: systemClock.monotonic() };

export const fastClock: Clock = {
  now: () => Math.round(start.now + speed * (systemClock.monotonic() - start.monotonic)),
  monotonic: () => speed * systemClock.monotonic(),
  setTimer: (delayMs, task) => systemClock.setTimer(delayMs / speed, task),
};

/** How long a plugin waits for its welcome at least, in milliseconds. */
const patienceMs = 15_000;

/** Plugin and judge live in one process, which a loaded machine holds up for seconds: the plugin's patience stays long. */
const pluginClock: Clock = {
  ...fastClock,
  setTimer: (delayMs, task) =>
    delayMs < patienceMs ? fastClock.setTimer(delayMs, task) : systemClock.setTimer(delayMs, task),
};

/** From this rule on the plugin has to be started again whenever the judge waits for it. */
const firstEnding: RuleName = 'unauthorized';

interface Judgement {
  /** Real milliseconds after which an answer counts as missing. */
  readonly answerMs: number;
  readonly backlog: number;
  readonly platform?: string;
  readonly only?: readonly RuleName[];
}

export async function judged(
  fault: Fault,
  { answerMs, backlog, only, platform = 'terminal_a' }: Judgement,
): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  let terminal: PaperTerminal | undefined;
  /** Number of the rule in which the plugin was refused for good; it comes back in a later one. */
  let refusedIn: number | undefined;
  let restarted = Promise.resolve();
  const judge = await openJudge({
    clock: fastClock,
    host: '127.0.0.1',
    port: 0,
    instrument: 'ES',
    quantity: 1,
    limitPrice: 1,
    password: 'secret',
    awayMs: 0,
    answerMs: answerMs * speed,
    connectMs: answerMs * speed,
    helloMs: answerMs * speed,
    backlog,
    only,
    onWaiting: () => {
      const isEnding = verdicts.some(({ rule }) => rule === firstEnding);
      const wasRefused = refusedIn !== undefined && verdicts.length > refusedIn;
      if (isEnding || wasRefused) restarted = restarted.then(restart);
    },
  });
  const wire = await openCrookedWire(judge.url, fault);

  async function restart(): Promise<void> {
    refusedIn = undefined;
    await terminal?.stop();
    const login = await logIn(judge);
    if (!login.ok) throw new Error(login.message);
    const accountName = platform === 'terminal_b' ? '5001@Paper' : 'Sim101';
    terminal = createPaperTerminal({
      url: wire.url,
      token: () => login.sessionToken,
      source: { platform, instanceId: 'desk-1', accountName },
      clock: pluginClock,
      observer({ kind }) {
        if (kind === 'refused') refusedIn ??= verdicts.length;
      },
      random: fault.random ?? (() => 0.5),
    });
    terminal.start();
  }

  await restart();
  for await (const verdict of judge.verdicts()) verdicts.push(verdict);
  await restarted;
  await terminal?.stop();
  await wire.close();
  await judge.close();
  return verdicts;
}
