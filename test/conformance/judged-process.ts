/** A plugin in a process of its own before the judge, started again whenever the process has ended. */
import type { Test } from 'tap';
import { openJudge, rules, type Judge, type RuleName } from '../../src/conformance/judge.js';
import type { DeskOptions } from '../../src/conformance/desk.js';
import { systemClock } from '../../src/lib/clock.js';
import { helloTimeoutMs } from '../../src/plugins/protocol.js';

/** From this rule on the plugin ends itself, as it should. */
const firstEnding: RuleName = 'unauthorized';
const ruleNames = Object.keys(rules) as RuleName[];

export const judgePassword = 'conformance';

export type Login = Pick<Judge, 'url' | 'email' | 'password'>;

export interface PluginProcess {
  ended(): Promise<unknown>;
}

export interface Judgement extends Partial<Pick<DeskOptions, 'fillPrice' | 'instrument'>> {
  /** Rules that the plugin cannot keep with what it has at its other side. */
  readonly without?: readonly RuleName[];
}

export async function passesConformance(
  t: Test,
  start: (login: Login) => PluginProcess,
  { without = [], ...judgement }: Judgement = {},
): Promise<void> {
  const only = ruleNames.filter((rule) => !without.includes(rule));
  const judged: RuleName[] = [];
  const judge = await openJudge({
    clock: systemClock,
    host: '127.0.0.1',
    port: 0,
    only,
    password: judgePassword,
    instrument: 'ES',
    quantity: 1,
    limitPrice: 1,
    answerMs: 60_000,
    connectMs: 60_000,
    awayMs: 0,
    helloMs: helloTimeoutMs,
    backlog: 2_000,
    onWaiting: () => {
      if (judged.includes(firstEnding)) {
        plugin.ended().then(
          () => (plugin = start(judge)),
          () => undefined,
        );
      }
    },
    ...judgement,
  });
  t.teardown(() => judge.close());
  let plugin = start(judge);
  for await (const { rule, result, why } of judge.verdicts()) {
    judged.push(rule);
    t.equal(result, 'pass', `${rule} ${why}`);
  }
  t.strictSame(judged, only);
}
