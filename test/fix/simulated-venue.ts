/**
 * A venue's book of orders, and its messages on them: right by the specification, with random use of the freedom
 * that it leaves. Owns the orders and the requests that wait to be decided.
 */
import { toFixTime } from '../../src/fix/fix-time.js';
import { valueOf, type ReceivedMessage } from '../../src/fix/message.js';
import { tags, types } from '../../src/fix/tags.js';
import { mixed, type Surroundings } from './surroundings.js';
import { statusExecId, VenueSession, type Said } from './venue-session.js';

/** How often a request gets which answer, and how often what happens to an order by itself. */
const weights = {
  order: { rejectTheOrder: 8, refuseTheMessage: 10, take: 82 },
  cancel: { rejectTheCancel: 13, refuseTheMessage: 7, take: 80 },
  question: { ignore: 25, refuseTheMessage: 8, answer: 67 },
  // oxfmt-ignore
  resting: {
    trade: 40, suspendOrGoOn: 14, rename: 12, repeat: 8, expire: 6, cancel: 6, reject: 3, endTheDay: 4, takeBack: 4,
    nothing: 16,
  },
  pending: { carryOutTheCancel: 24, rejectTheCancel: 16, trade: 24, repeat: 8, nothing: 31 },
  ended: { tradeLate: 14, takeBack: 4, repeat: 4, nothing: 78 },
};
const day = '0';
const ioc = '3';

interface Trade {
  readonly quantity: number;
  readonly price: number;
}

class VenueOrder {
  /** ClOrdID in reports: another one once people at the venue have changed the order. */
  name: string;
  trades: Trade[] = [];
  /** The quantity of all trades, those that were taken back or corrected since included. */
  everTraded = 0;
  isUndone = false;
  /** The order rests, or has rested. */
  isTaken = false;
  /** The order's message was refused. */
  isRefused = false;
  /** OrdStatus once nothing is open. */
  end: '2' | '4' | '8' | 'C' | undefined;
  endedAt: number | undefined;
  /** OrdStatus that ranks above the filled quantity: suspended, stopped, or at the end of its day. */
  aside: '9' | '7' | '3' | 'B' | undefined;
  /** ClOrdID of a cancel that the venue has neither carried out nor rejected. */
  cancel: string | undefined;
  isCancelShown = false;
  isForgotten = false;
  readonly reports: Said[] = [];

  constructor(
    readonly clOrdId: string,
    readonly orderId: string,
    readonly quantity: number,
    readonly timeInForce: string,
  ) {
    this.name = clOrdId;
  }

  get traded(): number {
    return this.trades.reduce((sum, { quantity }) => sum + quantity, 0);
  }

  get value(): number {
    return this.trades.reduce((sum, { quantity, price }) => sum + quantity * price, 0);
  }

  /** OrdStatus by the precedence of the specification: PendingCancel goes before Filled. */
  get status(): string {
    if (this.end === '8') return this.end;
    if (this.cancel !== undefined && this.isCancelShown) return '6';
    if (this.end === '2') return this.end;
    return this.aside ?? this.end ?? (this.traded > 0 ? '1' : this.isTaken ? '0' : 'A');
  }
}

/** A message that is not decided yet. */
interface Request {
  readonly message: ReceivedMessage;
  readonly seq: number;
  readonly life: number;
}

export class SimulatedVenue {
  readonly session: VenueSession;
  readonly #orders = new Map<string, VenueOrder>();
  /** The venue's decision on each cancel or its message, by ClOrdID; undefined until it has decided. */
  readonly cancels = new Map<string, 'cancelled' | 'rejected' | 'refused' | undefined>();
  readonly #world: Surroundings;
  readonly #requests: Request[] = [];
  /** `8 V1`: the desk was given a report (8) on order V1 that has a ClOrdID of the desk. */
  readonly #heard = new Set<string>();
  readonly #weights: typeof weights;
  /**
   * ClOrdIDs of orders of which a question was ignored. A desk asks three times, so never two in a row are ignored,
   * and only one in all if answers may be lost, too.
   */
  readonly #ignored = new Set<string>();
  #executions = 0;
  #renamed = 0;

  constructor(world: Surroundings) {
    this.#world = world;
    const mixtures = Object.entries(weights).map(([of, each]) => [
      of,
      mixed<string>(each, world.chance),
    ]);
    this.#weights = Object.fromEntries(mixtures) as typeof weights;
    this.session = new VenueSession(world, (message, seq) => this.#receive(message, seq));
  }

  get isIdle(): boolean {
    return this.#requests.length === 0 && this.session.isIdle;
  }

  /** @returns the order of this ClOrdID that the venue knows: none if its message was refused. */
  find(clOrdId: string): VenueOrder | undefined {
    const order = this.#orders.get(clOrdId);
    return order?.isRefused === true ? undefined : order;
  }

  /** Decides the oldest request. */
  decide(): void {
    const request = this.#requests.shift();
    if (request === undefined) return;
    if (request.message.type === types.NewOrderSingle) this.#decideOrder(request);
    else if (request.message.type === types.OrderCancelRequest) this.#decideCancel(request);
    else this.#decideQuestion(request);
  }

  /** Something happens to one of the orders. */
  live(): void {
    const { chance } = this.#world;
    const orders = [...this.#orders.values()].filter(({ isTaken }) => isTaken);
    if (orders.length === 0) return;
    const order = chance.pick(orders);
    if (order.end !== undefined) return this.#acts[chance.weigh(this.#weights.ended)](order);
    if (order.cancel !== undefined) return this.#acts[chance.weigh(this.#weights.pending)](order);
    this.#acts[chance.weigh(this.#weights.resting)](order);
  }

  readonly #acts = {
    nothing: () => undefined,
    trade: (order: VenueOrder) => this.#trade(order),
    suspendOrGoOn: (order: VenueOrder) => {
      order.aside = order.aside === undefined ? this.#world.chance.pick(['9', '7']) : undefined;
      this.#report(order, { ExecType: order.aside ?? 'D' });
    },
    /** Only with all amounts: without them nothing but the ClOrdID tells a new trade from a repeated one. */
    rename: (order: VenueOrder) => {
      const { chance, habits } = this.#world;
      if (habits.amounts !== 'all' || order.isUndone) return;
      const isNumbered = this.#heard.has(`${types.ExecutionReport} ${order.orderId}`);
      const OrigClOrdID = !isNumbered || chance.happens(0.7) ? order.name : undefined;
      order.name = `X${++this.#renamed}`;
      this.#report(order, { ExecType: '5', OrigClOrdID });
    },
    /** Repeats a report with PossResend, under a new number. */
    repeat: (order: VenueOrder) => {
      const reports = order.reports.filter(({ ExecID }) => ExecID !== statusExecId);
      if (reports.length === 0 || order.isForgotten) return;
      const report = this.#world.chance.pick(reports);
      this.#say({ PossResend: 'Y', ...report });
    },
    /**
     * A bust, or a correction of quantity and price. Only with unique ExecIDs and a ClOrdID of the desk: nothing else
     * tells the trades of the order apart afterwards, and that it rests again.
     */
    takeBack: (order: VenueOrder) => {
      const { chance, habits } = this.#world;
      const isTold = habits.amounts === 'all' && habits.execIds === Infinity;
      if (!isTold || order.trades.length === 0 || order.name !== order.clOrdId) return;
      const at = chance.between(0, order.trades.length - 1);
      const { quantity, price } = order.trades.splice(at, 1)[0] as Trade;
      const isBust = chance.happens(0.5);
      const left = { quantity: chance.between(1, quantity), price: price + 0.1 };
      if (!isBust) order.trades.push(left);
      order.isUndone = true;
      if (order.end === '2' && order.traded < order.quantity) order.end = order.endedAt = undefined;
      const { quantity: LastQty, price: LastPx } = isBust ? { quantity, price } : left;
      this.#report(order, { ExecType: isBust ? 'H' : 'G', LastQty, LastPx });
    },
    expire: (order: VenueOrder) => this.#end(order, 'C'),
    cancel: (order: VenueOrder) => this.#end(order, '4'),
    /** Not if the report may be lost: Rejected in an answer would then mean an order that the venue forgot. */
    reject: (order: VenueOrder) => {
      if (!this.#world.habits.losesReports) this.#end(order, '8');
    },
    /** Only with LeavesQty, which alone tells that the order does not go on the next day. */
    endTheDay: (order: VenueOrder) => {
      const { amounts } = this.#world.habits;
      if (order.timeInForce !== day || amounts === 'none' || amounts === 'some') return;
      order.aside = this.#world.habits.endOfDay;
      order.end = 'C';
      this.#report(order, { ExecType: order.aside });
    },
    carryOutTheCancel: (order: VenueOrder) => {
      const ClOrdID = order.cancel as string;
      this.cancels.set(ClOrdID, 'cancelled');
      order.cancel = undefined;
      this.#end(order, '4', { ClOrdID, OrigClOrdID: order.clOrdId });
    },
    rejectTheCancel: (order: VenueOrder) => this.#rejectPending(order, '99'),
    /** Reports a trade from before the order's end. Not if the report may be lost: it would never be asked for. */
    tradeLate: (order: VenueOrder) => {
      if (order.end === '4' && !this.#world.habits.losesReports) this.#trade(order);
    },
  };

  /** Notes a message that the desk is given: from a ClOrdID of its own the desk learns the order of an OrderID. */
  noteDelivery(message: ReceivedMessage): void {
    const isNamed = [tags.ClOrdID, tags.OrigClOrdID].some((tag) => {
      const name = valueOf(message, tag) ?? '';
      return this.#orders.has(name) || this.cancels.has(name);
    });
    if (isNamed) this.#heard.add(`${message.type} ${valueOf(message, tags.OrderID)}`);
  }

  #receive(message: ReceivedMessage, seq: number): void {
    const clOrdId = valueOf(message, tags.ClOrdID) ?? '';
    const request: Request = { message, seq, life: this.session.life };
    const isQuestion = message.type === types.OrderStatusRequest;
    // A question may be answered before earlier requests, from the book as it is.
    if (isQuestion && this.#world.chance.happens(0.9)) return this.#decideQuestion(request);
    this.#requests.push(request);
    if (isQuestion) return;
    if (this.#orders.has(clOrdId) || this.cancels.has(clOrdId)) {
      this.#world.breach('an order and a cancel leave once', clOrdId);
    }
    if (message.type === types.OrderCancelRequest) return void this.cancels.set(clOrdId, undefined);
    const quantity = Number(valueOf(message, tags.OrderQty));
    const timeInForce = valueOf(message, tags.TimeInForce) ?? day;
    const orderId = `V${this.#orders.size + 1}`;
    this.#orders.set(clOrdId, new VenueOrder(clOrdId, orderId, quantity, timeInForce));
  }

  #decideOrder(request: Request): void {
    const { chance, habits } = this.#world;
    const order = this.#orders.get(valueOf(request.message, tags.ClOrdID) ?? '') as VenueOrder;
    // If the refusal were lost after a report, the order would be taken for one that the venue has forgotten.
    const isShown = habits.saysPendingNew || order.reports.length > 0;
    const decided = habits.losesReports && isShown ? 'take' : chance.weigh(this.#weights.order);
    if (decided === 'refuseTheMessage') {
      order.isRefused = true;
      return this.#refuse(request);
    }
    if (habits.saysPendingNew) this.#report(order, { ExecType: 'A' });
    if (decided === 'rejectTheOrder') {
      order.end = '8';
      return this.#report(order, { ExecType: '8', OrdRejReason: '1' });
    }
    order.isTaken = true;
    if (isShown || chance.happens(habits.acknowledges)) this.#report(order, { ExecType: '0' });
    if (order.timeInForce !== ioc) return;
    if (chance.happens(0.5)) this.#trade(order);
    if (order.traded < order.quantity) this.#end(order, '4');
  }

  #decideCancel(request: Request): void {
    const { chance, habits } = this.#world;
    const ClOrdID = valueOf(request.message, tags.ClOrdID) as string;
    const OrigClOrdID = valueOf(request.message, tags.OrigClOrdID) as string;
    const order = this.find(OrigClOrdID);
    const reject = (why: string): void => this.#rejectCancel(ClOrdID, OrigClOrdID, why);
    if (order === undefined) return reject('1');
    if (order.end !== undefined) return reject(chance.pick(['0', '1']));
    if (order.cancel !== undefined) return reject('3');
    const decided = chance.weigh(this.#weights.cancel);
    if (decided === 'rejectTheCancel') return reject(chance.pick(['0', '2', '99']));
    if (decided === 'refuseTheMessage') {
      this.cancels.set(ClOrdID, 'refused');
      return this.#refuse(request);
    }
    order.cancel = ClOrdID;
    order.isCancelShown = habits.saysPendingCancel;
    if (order.isCancelShown) this.#report(order, { ExecType: '6', ClOrdID, OrigClOrdID });
  }

  /** Refuses a question only if the desk hears of the order all the same. */
  #decideQuestion(request: Request): void {
    const { chance, habits } = this.#world;
    const clOrdId = valueOf(request.message, tags.ClOrdID) ?? '';
    const decided = chance.weigh(this.#weights.question);
    const isIgnored = decided === 'ignore' && !this.#ignored.has(clOrdId);
    if (isIgnored) return void this.#ignored.add(clOrdId);
    if (!habits.losesReports) this.#ignored.delete(clOrdId);
    const known = this.find(clOrdId);
    const hears = (type: string): boolean => this.#heard.has(`${type} ${known?.orderId}`);
    const isReported = hears(types.ExecutionReport);
    const isProved = isReported || hears(types.OrderCancelReject);
    if (known?.end !== undefined && habits.forgets && isProved) {
      known.isForgotten ||= chance.happens(0.5);
    }
    const answer = { ClOrdID: clOrdId, ExecID: statusExecId, ExecType: 'I' };
    if (known === undefined || known.isForgotten) {
      const ExecType = chance.pick(['I', 'I', '8']);
      const none = new VenueOrder(clOrdId, 'NONE', 0, day);
      return this.#report(none, { ...answer, ExecType, OrdStatus: '8', OrdRejReason: '5' });
    }
    const isHeardOf = !habits.losesReports && known.reports.length > 0;
    if (decided === 'refuseTheMessage' && isHeardOf) return this.#refuse(request);
    // Only an answer may show the cancel that is considered.
    const isPending = known.cancel !== undefined && chance.happens(0.5);
    const OrdStatus = isPending ? '6' : known.status;
    const OrdRejReason = known.end === '8' ? '99' : undefined;
    // A ClOrdID that is not the desk's only if the desk knows the OrderID.
    const ClOrdID = isReported ? chance.pick([clOrdId, known.name]) : clOrdId;
    this.#report(known, { ...answer, ClOrdID, OrdStatus, OrdRejReason });
  }

  #trade(order: VenueOrder): void {
    const { chance } = this.#world;
    const open = order.quantity - order.traded;
    const quantity = chance.happens(0.3) ? open : chance.between(1, open);
    const price = 1 + chance.between(0, 9) / 10;
    order.trades.push({ quantity, price });
    order.everTraded += quantity;
    if (order.traded === order.quantity) order.end = '2';
    const at = order.endedAt === undefined ? {} : { TransactTime: toFixTime(order.endedAt) };
    this.#report(order, { ExecType: 'F', LastQty: quantity, LastPx: price, ...at });
    if (order.end === '2' && order.cancel !== undefined) this.#rejectPending(order, '0');
  }

  #end(order: VenueOrder, end: '4' | '8' | 'C', named: Said = {}): void {
    const { aside } = order;
    order.end = end;
    order.aside = undefined;
    // OrdStatus may show either: what the order was aside from its fills ranks above its end.
    const isHidden = aside !== undefined && end !== '8' && this.#world.chance.happens(0.5);
    this.#report(order, { ExecType: end, ...(isHidden ? { OrdStatus: aside } : {}), ...named });
  }

  #rejectPending(order: VenueOrder, CxlRejReason: string): void {
    const ClOrdID = order.cancel as string;
    order.cancel = undefined;
    this.#rejectCancel(ClOrdID, order.clOrdId, CxlRejReason);
  }

  #rejectCancel(ClOrdID: string, OrigClOrdID: string, CxlRejReason: string): void {
    this.cancels.set(ClOrdID, 'rejected');
    const { orderId, status } = this.find(OrigClOrdID) ?? { orderId: 'NONE', status: '8' };
    const about = { OrderID: orderId, ClOrdID, OrigClOrdID, OrdStatus: status };
    this.session.say(types.OrderCancelReject, { ...about, CxlRejResponseTo: '1', CxlRejReason });
  }

  /** Refuses by Reject (session rules broken) or by BusinessMessageReject (rules of the venue broken). */
  #refuse({ message, seq, life }: Request): void {
    const { chance } = this.#world;
    // The request's number means nothing after a reset, and may be left out beside a ClOrdID.
    const isNumbered = life === this.session.life && chance.happens(0.8);
    const RefSeqNum = isNumbered ? seq : undefined;
    const RefMsgType = message.type;
    if (RefSeqNum !== undefined && chance.happens(0.4)) {
      const type = chance.happens(0.5) ? { RefMsgType } : {};
      return this.session.say(types.Reject, { RefSeqNum, ...type, SessionRejectReason: '5' });
    }
    const isNamed = RefSeqNum === undefined || chance.happens(0.5);
    const BusinessRejectRefID = isNamed ? valueOf(message, tags.ClOrdID) : undefined;
    const about = { RefSeqNum, RefMsgType, BusinessRejectRefID };
    this.session.say(types.BusinessMessageReject, { ...about, BusinessRejectReason: '4' });
  }

  #report(order: VenueOrder, said: Said): void {
    const { clock } = this.#world;
    if (order.end !== undefined) order.endedAt ??= clock.now();
    const report = this.#inItsVersion({
      OrderID: order.orderId,
      ClOrdID: order.name,
      ExecID: `E${++this.#executions % this.#world.habits.execIds}`,
      OrdStatus: order.status,
      Symbol: 'EURUSD',
      Side: '1',
      OrderQty: order.quantity,
      ...this.#amountsOf(order),
      TransactTime: toFixTime(clock.now()),
      ...said,
    });
    order.reports.push(report);
    this.#say(report);
  }

  #say(report: Said): void {
    const { habits, chance } = this.#world;
    const isPoor = habits.amounts === 'some' && chance.happens(0.5);
    const left = isPoor ? { CumQty: undefined, LeavesQty: undefined, AvgPx: undefined } : {};
    this.session.say(types.ExecutionReport, { ...report, ...left });
  }

  /** Before FIX 4.4 ExecTransType, not ExecType, marked answers, busts and corrections. */
  #inItsVersion(report: Said): Said {
    const { ExecType, OrdStatus } = report;
    if (!this.#world.habits.isBefore44) return report;
    if (ExecType === 'I') return { ...report, ExecType: OrdStatus, ExecTransType: '3' };
    if (ExecType === 'H') return { ...report, ExecType: OrdStatus, ExecTransType: '1' };
    if (ExecType === 'G') return { ...report, ExecType: OrdStatus, ExecTransType: '2' };
    const traded = OrdStatus === '2' ? '2' : '1';
    return { ...report, ExecType: ExecType === 'F' ? traded : ExecType, ExecTransType: '0' };
  }

  #amountsOf({ end, quantity, traded, value }: VenueOrder): Said {
    const { habits } = this.#world;
    const LeavesQty = end === undefined ? quantity - traded : 0;
    if (habits.amounts === 'none') return {};
    if (habits.amounts === 'zeros') return { CumQty: 0, LeavesQty: 0, AvgPx: 0 };
    return { CumQty: traded, LeavesQty, AvgPx: traded === 0 ? 0 : value / traded };
  }
}
