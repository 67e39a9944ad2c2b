/**
 * What the parts of a simulated world share: the clock, chance, the habits of the venue, pipes, and the rules that
 * must hold. Owns the breaches of the rules.
 */
import type { ReceivedMessage } from '../../src/fix/message.js';
import { Chance } from '../harness/chance.js';
import { SimulatedClock } from '../support/simulated-clock.js';

/** What must hold in every world. The last three are checked when all is quiet. */
export const rules = [
  'nothing throws',
  'an order and a cancel leave once',
  'each message is taken once, and in order',
  'the session goes on by itself, and refuses nothing that is right',
  'an order is at the gateway what it is at the venue',
  'each trade of an order counts once at the gateway',
  'the end of a cancel is that of the venue',
] as const;

export type Rule = (typeof rules)[number];

export interface Breach {
  readonly rule: Rule;
  readonly text: string;
}

/** Chosen once for a world. */
function habitsOf(chance: Chance) {
  const losesReports = chance.happens(0.5);
  const amounts = losesReports ? 'all' : chance.pick(['all', 'zeros', 'some', 'none'] as const);
  const forgets = losesReports && chance.happens(0.4);
  const kills = !forgets && chance.happens(0.6);
  return {
    /**
     * Reports are lost for good, as by a reset. Only in worlds where reports have all amounts and the venue answers
     * questions: elsewhere the desk could not learn what was in them, and no rule would hold.
     */
    losesReports,
    answersQuestions: losesReports || chance.happens(0.7),
    /** CumQty, LeavesQty and AvgPx: in all reports, 0 in all, in some reports, or in none. */
    amounts,
    /** ExecIDs begin anew after so many. Not without amounts: they alone tell new trades from repeated ones then. */
    execIds: amounts === 'all' ? chance.pick([2, 5, Infinity]) : Infinity,
    /**
     * Answers a question on an order that has ended as if there were no such order. Not with kills: if one report
     * was lost and another was read and not stored, the desk could not know that the venue has had the order.
     */
    forgets,
    kills,
    /** A kill may take the journal of the FIX session with it. */
    losesJournal: kills && losesReports && chance.happens(0.5),
    /** The desk resets both sequences at each logon. */
    resetsOnLogon: losesReports && chance.happens(0.35),
    /** Answers a ResendRequest with the messages; otherwise with a gap fill over all of them. */
    resends: !losesReports || chance.happens(0.7),
    /** Keeps messages that come after a gap; otherwise asks for all of them again. */
    keepsAhead: chance.happens(0.5),
    acknowledges: chance.pick([0, 0.5, 1]),
    saysPendingNew: chance.happens(0.3),
    saysPendingCancel: chance.happens(0.5),
    /** Trades and answers as FIX 4.2 says them: by ExecTransType. */
    isBefore44: chance.happens(0.25),
    /** OrdStatus of a day order at the end of its day: DoneForDay or Calculated. */
    endOfDay: chance.pick(['3', 'B'] as const),
  };
}

/** Draws weights for one world: what is frequent in one world is rare in another, where it hides no fault. */
export function mixed<T extends string>(
  weights: Readonly<Record<T, number>>,
  chance: Chance,
): Record<T, number> {
  const entries = Object.entries(weights) as [T, number][];
  const mixture = entries.map(([name, weight]) => [name, weight * chance.pick([0, 1, 3])]);
  return Object.fromEntries(mixture) as Record<T, number>;
}

const killAt = 0.008;

export class Killed extends Error {}

export class Surroundings {
  readonly clock = new SimulatedClock();
  readonly chance: Chance;
  readonly habits: ReturnType<typeof habitsOf>;
  readonly breaches: Breach[] = [];
  /** What happened, if a log is kept. */
  readonly log: string[] = [];
  /** Whether faults happen and orders come; afterwards everything that is open must get an answer. */
  isWild = true;
  /** Whether nothing is under way any more. */
  isQuiet = false;
  readonly #isLogged: boolean;

  constructor(seed: number, isLogged: boolean) {
    this.chance = new Chance(seed, 'venue');
    this.habits = habitsOf(this.chance);
    this.#isLogged = isLogged;
    this.note(() => JSON.stringify(this.habits));
  }

  note(line: () => string): void {
    if (this.#isLogged) this.log.push(`${this.clock.monotonic() / 1_000} ${line()}`);
  }

  breach(rule: Rule, text: string): void {
    this.note(() => `BREACH: ${text}`);
    this.breaches.push({ rule, text });
  }

  /** Whether a fault happens now; never once the world is calm. */
  happens(probability: number): boolean {
    return this.isWild && this.chance.happens(probability);
  }

  /** Called wherever a process may die. @throws Killed */
  mayDie(): void {
    if (this.habits.kills && this.happens(killAt)) throw new Killed();
  }
}

/** A connection: keeps the order, and a side learns of the other's close once it has read what came before. */
export class Pipe {
  readonly toVenue: ReceivedMessage[] = [];
  readonly toTerminal: ReceivedMessage[] = [];
  isVenueClosed = false;
  isTerminalClosed = false;
}
