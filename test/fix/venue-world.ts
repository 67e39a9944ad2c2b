/**
 * A venue, a terminal and a gateway, and a story of what happens to them by chance: messages that travel, orders
 * and cancels, faults. A seed tells the same story again. At its end all faults end, and the gateway's view is
 * compared with the venue's book.
 */
import { clOrdIdOf } from '../../src/fix/order-message.js';
import { errorText } from '../../src/lib/error-text.js';
import { isFinal, type Execution } from '../../src/model/execution.js';
import { GatewayView } from './gateway-view.js';
import { SimulatedFile, SimulatedTerminal } from './simulated-terminal.js';
import { SimulatedVenue } from './simulated-venue.js';
import { Killed, mixed, Surroundings, type Rule } from './surroundings.js';

/** How often each act comes next. */
const course = {
  'the terminal goes on': 100,
  'the terminal reads the venue': 50,
  'the venue reads': 50,
  'the venue decides': 16,
  'time passes': 17,
};
const ofVenue = { 'the venue lives': 20 };
const commands = { submit: 4, cancel: 6 };
const faults = {
  'the venue is cut off': 0.6,
  'the gateway is cut off': 0.8,
  kill: 0.3,
  'a pause': 0.6,
  'a message is lost': 0.8,
  'the next report is spoiled': 2.4,
  'the venue passes over numbers': 0.6,
  'the venue begins anew': 0.6,
};

type Act = keyof typeof course | keyof typeof ofVenue | keyof typeof commands | keyof typeof faults;

const wildActs = 1_000;
const calmActs = 300;
const ordersMax = 30;
const stepsMs = [100, 300, 1_000, 1_000, 3_000];
const pauseMs = 20_000;
const tickMs = 1_000;
/** Ticks of each of two quiet periods: longer than reconnecting and three questions with their answers take. */
const quietTicks = 120;
/** Rounds of messages in a second; more count as a loop. */
const roundsMax = 10_000;

/** Statuses that an order may have at the gateway, by its OrdStatus at the venue; `none` if it never came there. */
const ends = {
  '2': ['filled'],
  '4': ['cancelled'],
  '8': ['rejected'],
  // Rejected means at the gateway that nothing was executed.
  '8 after a trade': ['cancelled'],
  C: ['expired'],
  none: ['rejected', 'expired'],
};

/** What is true of an order at the venue. */
interface Truth {
  readonly end: keyof typeof ends | undefined;
  readonly traded: number;
  readonly everTraded: number;
  readonly value: number;
  /** A trade was taken back or corrected. */
  readonly isUndone: boolean;
  /** The venue may yet carry out a cancel of the order. */
  readonly isConsidered: boolean;
  /** The desk's note of the order was lost, or the venue has forgotten the order. */
  readonly isGone: boolean;
}

const nowhere = {
  end: 'none',
  traded: 0,
  everTraded: 0,
  value: 0,
  isUndone: false,
  isForgotten: false,
} as const;

export class VenueWorld {
  readonly #world: Surroundings;
  readonly #files = { plugin: new SimulatedFile(), fix: new SimulatedFile() };
  readonly #gateway: GatewayView;
  readonly #venue: SimulatedVenue;
  #terminal: SimulatedTerminal;
  #tickAt = tickMs;
  /** Orders whose notes were lost with the journal, if they had any. */
  readonly #lost = new Set<string>();

  constructor(seed: number, isLogged = false) {
    this.#world = new Surroundings(seed, isLogged);
    this.#gateway = new GatewayView(this.#world);
    this.#venue = new SimulatedVenue(this.#world);
    this.#terminal = this.#start();
  }

  /** @returns what has gone wrong, and what happened, if a log is kept. */
  run(): Pick<Surroundings, 'breaches' | 'log'> {
    const world = this.#world;
    const calm = { ...course, ...mixed(ofVenue, world.chance) };
    const wild = { ...calm, ...commands, ...mixed(faults, world.chance) };
    try {
      for (let act = 0; act < wildActs; act++) this.#acts[world.chance.weigh(wild)]();
      // One last fault, whose effect no further fault hides.
      this.#acts[world.chance.pick(Object.keys(faults) as Act[])]();
      world.isWild = false;
      world.note(() => 'no faults any more');
      for (let act = 0; act < calmActs; act++) this.#acts[world.chance.weigh(calm)]();
      world.note(() => 'quiet');
      for (let tick = 0; tick < quietTicks; tick++) this.#settle();
      // Nothing is under way any more, so a session that comes back must not be lost again.
      world.isQuiet = true;
      if (world.chance.happens(0.3))
        this.#acts[world.habits.kills ? 'kill' : 'the venue is cut off']();
      for (let tick = 0; tick < quietTicks; tick++) this.#settle();
      this.#acts['the gateway is cut off']();
      for (const execution of this.#gateway.executions.values()) this.#compare(execution);
    } catch (error) {
      world.breach('nothing throws', errorText(error));
    }
    return world;
  }

  #start(): SimulatedTerminal {
    const [world, files] = [this.#world, this.#files];
    return new SimulatedTerminal({ world, files, gateway: this.#gateway, venue: this.#venue });
  }

  readonly #acts: Record<Act, () => void> = {
    'the terminal goes on': () => this.#inTerminal((terminal) => terminal.goOn()),
    'the terminal reads the venue': () => this.#inTerminal((terminal) => terminal.read()),
    'the venue reads': () => this.#venue.session.read(),
    'the venue decides': () => this.#venue.decide(),
    'the venue lives': () => this.#venue.live(),
    'time passes': () => this.#pass(this.#world.chance.pick(stepsMs)),
    submit: () => {
      if (this.#gateway.executions.size < ordersMax) this.#gateway.submit();
    },
    cancel: () => this.#gateway.cancel(),
    'the venue is cut off': () => this.#venue.session.cut(),
    'the gateway is cut off': () => this.#inTerminal((terminal) => terminal.hello()),
    kill: () => {
      if (this.#world.habits.kills) this.#restart();
    },
    'a pause': () => this.#pass(pauseMs),
    'a message is lost': () => this.#venue.session.lose(),
    'the next report is spoiled': () => {
      if (this.#world.habits.losesReports) this.#venue.session.isNextSpoiled = true;
    },
    'the venue passes over numbers': () => {
      const { habits, chance } = this.#world;
      if (habits.losesReports) this.#venue.session.passOver(chance.between(1, 5));
    },
    /** Not with kills: the specification does not say what follows when a process dies between the two resets. */
    'the venue begins anew': () => {
      const { losesReports, kills, resetsOnLogon } = this.#world.habits;
      if (losesReports && !kills && !resetsOnLogon) this.#venue.session.beginAnew();
    },
  };

  /** Lets everything that is under way arrive, and a second pass. */
  #settle(): void {
    for (let round = 0; round < 2 || !(this.#terminal.isIdle && this.#venue.isIdle); round++) {
      this.#acts['the terminal goes on']();
      this.#acts['the terminal reads the venue']();
      this.#acts['the venue reads']();
      this.#acts['the venue decides']();
      if (round === roundsMax) throw new Error('messages without end');
    }
    this.#pass(tickMs);
  }

  #pass(ms: number): void {
    const { clock } = this.#world;
    clock.advance(ms);
    this.#venue.session.tick();
    this.#gateway.tick();
    if (clock.monotonic() < this.#tickAt) return;
    this.#tickAt = clock.monotonic() + tickMs;
    this.#inTerminal((terminal) => terminal.tick());
  }

  #inTerminal(act: (terminal: SimulatedTerminal) => void): void {
    try {
      act(this.#terminal);
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      this.#restart();
    }
  }

  #restart(): void {
    this.#world.note(() => 'the process is killed');
    this.#terminal.end();
    if (this.#world.habits.losesJournal && this.#world.happens(0.6)) this.#loseJournal();
    this.#terminal = this.#start();
  }

  /** The journal is lost with its numbers, so operator and venue agree to begin anew. */
  #loseJournal(): void {
    this.#world.note(() => 'the journal of the session is lost');
    for (const executionId of this.#gateway.executions.keys()) this.#lost.add(executionId);
    this.#world.clock.advance(1);
    this.#files.fix.lines = [];
    this.#venue.session.drop();
    this.#venue.session.reset(1);
  }

  #compare(execution: Execution): void {
    const { executionId, status, reasonCode, filledQuantity, cancel } = execution;
    const order = this.#venue.find(clOrdIdOf(executionId, Infinity));
    const { end, traded, everTraded, value, isUndone, isForgotten } = order ?? nowhere;
    const truth: Truth = {
      end: end === '8' && everTraded > 0 ? '8 after a trade' : end,
      traded,
      everTraded,
      value,
      isUndone,
      isConsidered: order?.cancel !== undefined,
      isGone: this.#lost.has(executionId) || isForgotten,
    };
    const judgements = {
      'an order is at the gateway what it is at the venue': this.#isTrue(execution, truth),
      'each trade of an order counts once at the gateway': this.#isCounted(execution, truth),
      'the end of a cancel is that of the venue': this.#isEnded(execution, truth),
    };
    const view = `${status} ${reasonCode}, ${filledQuantity} filled, cancel ${cancel?.status}`;
    for (const [rule, isKept] of Object.entries(judgements)) {
      const text = `${executionId} is ${view}; at the venue ${JSON.stringify(truth)}`;
      if (!isKept) this.#world.breach(rule as Rule, text);
    }
  }

  /** An order may be unknown if the venue answers no questions, or if the terminal has not stored it. */
  #isTrue({ status, confirmedAt, quantity }: Execution, truth: Truth): boolean {
    const { end, traded, everTraded, isGone, isUndone } = truth;
    const { answersQuestions } = this.#world.habits;
    if (status === 'unknown') {
      return isGone || !answersQuestions || (confirmedAt === null && end === 'none');
    }
    // An order that was once filled stays filled, and no quantity falls.
    if (isUndone && status === 'filled') return everTraded >= (quantity ?? 0);
    if (isUndone && status === 'partially_filled') return end === undefined;
    if (end !== undefined) return ends[end].includes(status);
    const resting = traded > 0 ? 'partially_filled' : 'working';
    return status === resting || (status === 'submitted' && !answersQuestions);
  }

  #isCounted(execution: Execution, truth: Truth): boolean {
    const { traded, everTraded, value, isUndone, isGone } = truth;
    const { status, filledQuantity, remainingQuantity, averageFillPrice, fills } = execution;
    const { losesReports } = this.#world.habits;
    const filled = filledQuantity ?? 0;
    const listed = fills.reduce((sum, { quantity }) => sum + quantity, 0);
    if (listed > everTraded || filled > everTraded) return false;
    if (isGone || status === 'unknown') return true;
    const isListed = losesReports || listed === everTraded;
    if (isUndone) return isListed && filled >= traded;
    const isPriced = traded === 0 || Math.abs((averageFillPrice ?? 0) - value / traded) < 1e-6;
    const left = (execution.quantity ?? 0) - traded;
    const isLeft = isFinal(status) || remainingQuantity === left;
    return filled === traded && isListed && isPriced && isLeft;
  }

  #isEnded({ cancel }: Execution, { end, isConsidered, isGone, isUndone }: Truth): boolean {
    if (cancel === null) return true;
    const { losesReports } = this.#world.habits;
    const decided = this.#venue.cancels.get(clOrdIdOf(cancel.cancelRequestId, Infinity));
    switch (cancel.status) {
      case 'cancelled':
        return end === '4' || end === '8 after a trade';
      case 'rejected':
        return decided !== 'cancelled';
      case 'too_late':
        return end !== undefined || isUndone;
      case 'unknown':
        return isGone || losesReports || decided !== 'rejected' || end !== undefined;
      default:
        return isConsidered;
    }
  }
}
