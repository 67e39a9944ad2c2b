/** Writes commands of the catalog as FIX messages; a field that a venue cannot carry is refused, never dropped. */
import { createHash } from 'node:crypto';
import type { ReasonCode } from '../model/reason-codes.js';
import {
  isFault,
  readCommand,
  type CommandFault,
  type Order,
  type Side,
  type TerminalFields,
} from '../plugins/commands.js';
import type { SubmitFrame } from '../plugins/protocol.js';
import { toFixTime } from './fix-time.js';
import type { SentOrder } from './fix-journal.js';
import { asValue, type Field, optional } from './message.js';
import { tags } from './tags.js';
import type { OrderType, TimeInForce, Venue } from './venues.js';

export interface OrderRules {
  readonly beginString: string;
  readonly venue: Venue;
  readonly account: string | undefined;
  /** For orders that name none. */
  readonly timeInForce: TimeInForce;
  /** The venue's names of instruments, by the bot's names. */
  readonly symbols: Readonly<Record<string, string>>;
}

export interface NewOrder extends Pick<
  SentOrder,
  'instrument' | 'side' | 'quantity' | 'timeInForce'
> {
  readonly fields: readonly Field[];
}

const sides: Readonly<Record<Side, string>> = { buy: '1', sell: '2' };
const ordTypes: Readonly<Record<OrderType, string>> = {
  market: '1',
  limit: '2',
  stop: '3',
  stop_limit: '4',
};
const timesInForce: Readonly<Record<TimeInForce, string>> = {
  day: '0',
  gtc: '1',
  ioc: '3',
  fok: '4',
};
/** Amounts of an order, with the reason code of one that rounds to 0 in a message. */
const amounts = [
  ['quantity', 'invalid_quantity'],
  ['limitPrice', 'invalid_price'],
  ['stopPrice', 'invalid_price'],
] as const;
const decimalsMax = 20;
/** Made once, because making it takes twenty times as long as using it. */
const plainFormat = new Intl.NumberFormat('en-US', {
  useGrouping: false,
  maximumFractionDigits: decimalsMax,
});

/** Checks by the catalog, then by what the venue takes. @returns the order, or why it is refused. */
export function newOrder(
  payload: SubmitFrame['payload'],
  clOrdId: string,
  rules: OrderRules,
  nowMs: number,
): NewOrder | CommandFault {
  const { venue, symbols, account, beginString } = rules;
  const command = readCommand({ signalType: 'order', cmd: 'submit', payload }, notCarried(venue));
  if (isFault(command)) return command;
  const asked = command.payload as Order;
  const { instrument, executionType, quantity, limitPrice, stopPrice, comment } = asked;
  const { timeInForce = rules.timeInForce } = asked;
  const named = Object.hasOwn(symbols, instrument) ? (symbols[instrument] as string) : instrument;
  const fault =
    notCarriable(named) ??
    notAmong(executionType, venue.orderTypes, 'executionType', 'unsupported_execution_type') ??
    notAmong(timeInForce, venue.timesInForce, 'timeInForce', 'invalid_field') ??
    tooSmall(asked);
  if (fault !== undefined) return fault;
  const needsHandlInst = venue.handlInst || beginString === 'FIX.4.2';
  const order = { instrument: named, side: sides[asked.side], quantity: plain(quantity) };
  return {
    ...order,
    timeInForce,
    fields: [
      [tags.ClOrdID, clOrdId],
      ...optional(tags.Account, account),
      ...(needsHandlInst ? [[tags.HandlInst, '1'] as Field] : []),
      ...instrumentFields(venue, named),
      [tags.Side, order.side],
      [tags.TransactTime, toFixTime(nowMs)],
      [tags.OrderQty, order.quantity],
      [tags.OrdType, ordTypes[executionType]],
      ...optional(tags.Price, limitPrice === undefined ? undefined : plain(limitPrice)),
      ...optional(tags.StopPx, stopPrice === undefined ? undefined : plain(stopPrice)),
      [tags.TimeInForce, timesInForce[timeInForce]],
      // A field of a message is never empty.
      ...optional(venue.commentTag as number, comment === undefined ? undefined : asValue(comment)),
      ...venue.order,
    ],
  };
}

/** @param orderId the venue's, if it is known. */
export function cancelRequest(
  order: SentOrder,
  clOrdId: string,
  orderId: string | undefined,
  { venue, account }: OrderRules,
  nowMs: number,
): readonly Field[] {
  return [
    [tags.OrigClOrdID, order.clOrdId],
    ...optional(tags.OrderID, orderId),
    [tags.ClOrdID, clOrdId],
    ...optional(tags.Account, account),
    ...instrumentFields(venue, order.instrument),
    [tags.Side, order.side],
    [tags.TransactTime, toFixTime(nowMs)],
    [tags.OrderQty, order.quantity],
  ];
}

export function statusRequest(
  order: SentOrder,
  orderId: string | undefined,
  { venue, account }: OrderRules,
): readonly Field[] {
  return [
    ...optional(tags.OrderID, orderId),
    [tags.ClOrdID, order.clOrdId],
    ...optional(tags.Account, account),
    ...instrumentFields(venue, order.instrument),
    [tags.Side, order.side],
  ];
}

/** @returns a ClOrdID: the id without its prefix, or a hash if that is too long or has other characters. */
export function clOrdIdOf(id: string, lengthMax: number): string {
  const short = id.replace(/^(exe|can)_/, '');
  if (short !== id && short.length <= lengthMax && /^[A-Za-z0-9_-]+$/.test(short)) return short;
  return createHash('sha256').update(id).digest('hex').slice(0, lengthMax);
}

function instrumentFields({ instrument }: Venue, name: string): Field[] {
  if (instrument === 'symbol') return [[tags.Symbol, name]];
  return [
    [tags.SecurityID, name],
    [tags.SecurityIDSource, '8'],
  ];
}

/** Fields of the catalog for which the venue has none. */
function notCarried({ commentTag }: Venue): TerminalFields {
  const exits = ['stopLoss', 'takeProfit'] as const;
  return { without: commentTag === null ? [...exits, 'comment'] : exits };
}

/** With a space in place of a control character it would be the name of another instrument. */
function notCarriable(instrument: string): CommandFault | undefined {
  if (asValue(instrument) === instrument) return undefined;
  return { reasonCode: 'invalid_field', text: 'instrument must have no control characters.' };
}

function notAmong(
  value: string,
  taken: readonly string[],
  field: string,
  reasonCode: ReasonCode,
): CommandFault | undefined {
  if (taken.includes(value)) return undefined;
  return { reasonCode, text: `${field} must be one of ${taken.join(', ')}.` };
}

function tooSmall(order: Order): CommandFault | undefined {
  const small = amounts.find(([field]) => {
    const value = order[field] ?? 0;
    return value !== 0 && Number(plain(value)) === 0;
  });
  if (small === undefined) return undefined;
  const [field, reasonCode] = small;
  return { reasonCode, text: `${field} must be a number of up to ${decimalsMax} decimals.` };
}

/** @returns a decimal without an exponent, which FIX does not know, rounded to `decimalsMax` decimals. */
function plain(value: number): string {
  return plainFormat.format(value);
}
