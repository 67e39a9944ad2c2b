/**
 * Plays the gateway for a plugin under test and judges it rule by rule. A rule that is broken ends the connection,
 * so that the next one begins with a new one.
 */
import { cancelRules } from './cancel-rules.js';
import { commandRules } from './command-rules.js';
import { connectingRules } from './connecting-rules.js';
import { deliveryRules } from './delivery-rules.js';
import { Broken, Desk, type DeskOptions } from './desk.js';
import { endingRules } from './ending-rules.js';
import type { Rule } from './rule.js';

/**
 * Tries of a rule during which a connection is lost: a right plugin is not at fault when the line breaks. A plugin that
 * disconnects because of what it was sent does so each time.
 */
const triesMax = 3;

/** In the order in which they are judged. */
export const rules = {
  ...connectingRules,
  ...commandRules,
  ...cancelRules,
  ...deliveryRules,
  ...endingRules,
} as const satisfies Record<string, Rule>;

export type RuleName = keyof typeof rules;

export interface Verdict {
  readonly rule: RuleName;
  readonly says: string;
  readonly result: 'pass' | 'fail';
  /** The reason of a failure, or of a pass without a trial; else empty. */
  readonly why: string;
  /** File in src/plugins, and heading. */
  readonly place: string;
}

export interface JudgeOptions extends DeskOptions {
  readonly host: string;
  readonly port: number;
  /** Judges these alone. */
  readonly only?: readonly RuleName[] | undefined;
}

export interface Judge {
  readonly url: string;
  readonly email: string;
  readonly password: string;
  /** Judges the plugin that connects. Ends early, with one failure, when none does. */
  verdicts(): AsyncGenerator<Verdict>;
  close(): Promise<void>;
}

/** Rejects when the address is taken. */
export async function openJudge(options: JudgeOptions): Promise<Judge> {
  const desk = new Desk(options);
  const { stage } = desk;
  await stage.open(options.host, options.port);

  async function* verdicts(): AsyncGenerator<Verdict> {
    for (const [name, rule] of Object.entries(rules) as [RuleName, Rule][]) {
      if (options.only?.includes(name) === false) continue;
      desk.orders.rule = name;
      const { says, place } = rule;
      yield { rule: name, says, ...(await resultOf(rule)), place: `src/plugins/${place}` };
      if (stage.attempts.length === 0) return;
    }
  }

  async function resultOf(rule: Rule, tries = 1): Promise<Pick<Verdict, 'result' | 'why'>> {
    const { capability, check } = rule;
    const { losses } = desk;
    try {
      if (capability !== undefined && !(await desk.canDo(capability))) {
        return { result: 'pass', why: `Not tried: the hello has no capability "${capability}".` };
      }
      await check(desk);
      return { result: 'pass', why: '' };
    } catch (error) {
      if (!(error instanceof Broken)) throw error;
      await desk.drop();
      if (desk.losses > losses && tries < triesMax) return resultOf(rule, tries + 1);
      return { result: 'fail', why: error.message };
    }
  }

  return {
    url: stage.url,
    email: stage.email,
    password: stage.password,
    verdicts,
    close: () => stage.close(),
  };
}
