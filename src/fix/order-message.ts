/** Commands of the catalog as FIX messages: what a venue cannot carry is refused, never passed over. */
import { createHash } from 'node:crypto';
import type { ReasonCode } from '../model/reason-codes.js';
import { toFixTime } from './fix-time.js';
import type { SentOrder } from './fix-journal.js';
import { asValue, type Field, optional } from './message.js';
import { tags } from './tags.js';
import type { OrderType, TimeInForce, Venue } from './venues.js';

export interface OrderRules {
  readonly beginString: string;
  readonly venue: Venue;
  readonly account: string | undefined;
  /** For orders that do not say. */
  readonly timeInForce: TimeInForce;
  /** By the bot's name of the instrument. */
  readonly symbols: Readonly<Record<string, string>>;
}

export interface CommandRefusal {
  readonly reasonCode: ReasonCode;
  readonly text: string;
}

export interface NewOrder {
  readonly fields: readonly Field[];
  readonly instrument: string;
  readonly side: string;
  readonly quantity: string;
  readonly timeInForce: TimeInForce;
}

const sides: Readonly<Record<string, string>> = { buy: '1', sell: '2' };
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
const priced: readonly string[] = ['limit', 'stop_limit'];
const stopped: readonly string[] = ['stop', 'stop_limit'];
const instrumentLengthMax = 64;
const commentLengthMax = 64;
const decimalsMax = 20;

type Payload = Readonly<Record<string, unknown>>;

/** Fields of a payload that a message can carry. */
const carried = [
  'instrument',
  'side',
  'executionType',
  'quantity',
  'limitPrice',
  'stopPrice',
  'timeInForce',
  'comment',
];

export function newOrder(
  payload: Payload,
  clOrdId: string,
  rules: OrderRules,
  nowMs: number,
): NewOrder | CommandRefusal {
  const { instrument, side, executionType, quantity, limitPrice, stopPrice, comment } = payload;
  const { venue, symbols, account, beginString } = rules;
  const { timeInForce: tif = rules.timeInForce } = payload;
  const unknown = Object.keys(payload).find((name) => !carried.includes(name));
  if (unknown !== undefined)
    return refusal('invalid_field', unknown, 'is not carried to this venue');
  for (const name of ['instrument', 'side', 'executionType', 'quantity']) {
    if (payload[name] === undefined) return refusal('missing_field', name, 'is missing');
  }
  if (!isText(instrument, instrumentLengthMax))
    return refusal('unknown_instrument', 'instrument', 'is no name');
  if (!isOneOf(side, sides)) return refusal('invalid_field', 'side', 'must be buy or sell');
  if (!isOneOf(executionType, ordTypes) || !venue.orderTypes.includes(executionType)) {
    return refusal(
      'unsupported_execution_type',
      'executionType',
      `must be one of ${venue.orderTypes.join(', ')}`,
    );
  }
  if (!isPositive(quantity))
    return refusal('invalid_quantity', 'quantity', 'must be a number above 0');
  if (!isOneOf(tif, timesInForce) || !venue.timesInForce.includes(tif)) {
    return refusal(
      'invalid_field',
      'timeInForce',
      `must be one of ${venue.timesInForce.join(', ')}`,
    );
  }
  const prices = [
    [tags.Price, 'limitPrice', limitPrice, priced, 'missing_limit_price'],
    [tags.StopPx, 'stopPrice', stopPrice, stopped, 'missing_field'],
  ] as const;
  const priceFields: Field[] = [];
  for (const [tag, name, price, kinds, missing] of prices) {
    const isNeeded = kinds.includes(executionType);
    if (price === undefined) {
      if (isNeeded) return refusal(missing, name, 'is missing');
    } else if (!isNeeded)
      return refusal('invalid_field', name, `does not go with ${executionType}`);
    else if (typeof price !== 'number' || !Number.isFinite(price)) {
      return refusal('invalid_price', name, 'must be a number');
    } else if (price !== 0 && Number(plain(price)) === 0) {
      return refusal('invalid_price', name, `must be a number of up to ${decimalsMax} decimals`);
    } else priceFields.push([tag, plain(price)]);
  }
  if (comment !== undefined && (venue.commentTag === null || !isText(comment, commentLengthMax))) {
    return refusal(
      'invalid_field',
      'comment',
      `must be a text of up to ${commentLengthMax} characters, where the venue takes one`,
    );
  }
  const named = asValue(
    Object.hasOwn(symbols, instrument) ? (symbols[instrument] as string) : instrument,
  );
  const needsHandlInst = venue.handlInst || beginString === 'FIX.4.2';
  const order = { instrument: named, side: sides[side] as string, quantity: plain(quantity) };
  return {
    ...order,
    timeInForce: tif,
    fields: [
      [tags.ClOrdID, clOrdId],
      ...optional(tags.Account, account),
      ...(needsHandlInst ? [[tags.HandlInst, '1'] as Field] : []),
      ...instrumentFields(venue, named),
      [tags.Side, order.side],
      [tags.TransactTime, toFixTime(nowMs)],
      [tags.OrderQty, order.quantity],
      [tags.OrdType, ordTypes[executionType]],
      ...priceFields,
      [tags.TimeInForce, timesInForce[tif]],
      ...(comment === undefined ? [] : [[venue.commentTag as number, asValue(comment)] as Field]),
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

/** A name for the venue: the id without its prefix, or where that is too long or has other characters a hash. */
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

function refusal(reasonCode: ReasonCode, field: string, why: string): CommandRefusal {
  return { reasonCode, text: `${field} ${why}.` };
}

function isText(value: unknown, lengthMax: number): value is string {
  return typeof value === 'string' && value !== '' && value.length <= lengthMax;
}

function isPositive(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && plain(value) !== '0' && value > 0;
}

function isOneOf<T extends string>(value: unknown, table: Readonly<Record<T, string>>): value is T {
  return typeof value === 'string' && Object.hasOwn(table, value);
}

/** A decimal without an exponent, which FIX does not know. What is nearer to 0 than its last digit is 0. */
function plain(value: number): string {
  return value.toLocaleString('en-US', { useGrouping: false, maximumFractionDigits: decimalsMax });
}
