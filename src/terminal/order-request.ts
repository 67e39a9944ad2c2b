/**
 * Validates the payload of a command for the paper broker. Returns the reason code and the message of the first
 * violated rule.
 */
import type { ReasonCode } from '../model/reason-codes.js';
import { stepsIn } from './decimal.js';
import { instruments, type Instrument } from './instruments.js';
import { isPrice } from './price-feed.js';

export type Side = 'buy' | 'sell';
export type ExecutionType = 'market' | 'limit';
export type Payload = Readonly<Record<string, unknown>>;

export interface OrderRequest {
  readonly instrument: Instrument;
  readonly side: Side;
  readonly executionType: ExecutionType;
  /** Set for a limit order only. */
  readonly limitPrice: number | undefined;
  readonly quantity: number;
  /** Number of partial fills that the order requests, if any. */
  readonly partialFills: number | undefined;
}

export interface Refusal {
  readonly reasonCode: ReasonCode;
  readonly text: string;
}

/** Bounds the number of reports per order. */
export const partialFillsMax = 100;

type Rule = (payload: Payload) => Refusal | undefined;

const orderRules: readonly Rule[] = [
  present('instrument'),
  present('side'),
  present('executionType'),
  present('quantity'),
  isText('instrument'),
  isText('side'),
  isText('executionType'),
  knownInstrument,
  ({ side }) =>
    side === 'buy' || side === 'sell'
      ? undefined
      : { reasonCode: 'invalid_field', text: `side must be buy or sell, not ${shown(side)}.` },
  ({ executionType }) =>
    executionType === 'market' || executionType === 'limit'
      ? undefined
      : {
          reasonCode: 'unsupported_execution_type',
          text: `executionType must be market or limit, not ${shown(executionType)}.`,
        },
  ({ quantity, instrument }) => {
    const { symbol, quantityStep } = instrumentOf(instrument);
    const isMultiple = isPrice(quantity) && (stepsIn(quantity, quantityStep) ?? 0) > 0;
    if (isMultiple) return undefined;
    return {
      reasonCode: 'invalid_quantity',
      text: `quantity of ${symbol} must be a positive multiple of ${quantityStep}, not ${shown(quantity)}.`,
    };
  },
  ({ executionType, limitPrice }) =>
    executionType === 'limit' && isMissing(limitPrice)
      ? { reasonCode: 'missing_limit_price', text: 'A limit order needs a limitPrice.' }
      : undefined,
  ({ executionType, limitPrice, instrument }) => {
    if (executionType !== 'limit') return undefined;
    const { symbol, tickSize } = instrumentOf(instrument);
    if (isPrice(limitPrice) && (stepsIn(limitPrice, tickSize) ?? 0) > 0) return undefined;
    return {
      reasonCode: 'invalid_price',
      text: `limitPrice of ${symbol} must be a positive multiple of ${tickSize}, not ${shown(limitPrice)}.`,
    };
  },
  ({ partialFills }) => {
    if (isMissing(partialFills)) return undefined;
    const isCount =
      Number.isInteger(partialFills) &&
      (partialFills as number) >= 1 &&
      (partialFills as number) <= partialFillsMax;
    if (isCount) return undefined;
    return {
      reasonCode: 'invalid_field',
      text: `partialFills must be a whole number from 1 to ${partialFillsMax}, not ${shown(partialFills)}.`,
    };
  },
];

const closeRules: readonly Rule[] = [present('instrument'), isText('instrument'), knownInstrument];

export function parseOrder(payload: Payload): OrderRequest | Refusal {
  const refusal = firstBroken(orderRules, payload);
  if (refusal !== undefined) return refusal;
  return {
    instrument: instrumentOf(payload['instrument']),
    side: payload['side'] as Side,
    executionType: payload['executionType'] as ExecutionType,
    limitPrice:
      payload['executionType'] === 'limit' ? (payload['limitPrice'] as number) : undefined,
    quantity: payload['quantity'] as number,
    partialFills: (payload['partialFills'] as number | null | undefined) ?? undefined,
  };
}

/** @returns the instrument whose position is to be closed. */
export function parseClose(payload: Payload): Instrument | Refusal {
  return firstBroken(closeRules, payload) ?? instrumentOf(payload['instrument']);
}

export function isRefusal(value: object): value is Refusal {
  return 'reasonCode' in value;
}

function firstBroken(rules: readonly Rule[], payload: Payload): Refusal | undefined {
  for (const rule of rules) {
    const refusal = rule(payload);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function present(field: string): Rule {
  return (payload) =>
    isMissing(payload[field])
      ? { reasonCode: 'missing_field', text: `The payload has no ${field}.` }
      : undefined;
}

function isText(field: string): Rule {
  return (payload) =>
    typeof payload[field] === 'string'
      ? undefined
      : {
          reasonCode: 'invalid_field',
          text: `${field} must be text, not ${shown(payload[field])}.`,
        };
}

function knownInstrument({ instrument }: Payload): Refusal | undefined {
  if (instruments.has(instrument as string)) return undefined;
  const known = [...instruments.keys()].join(', ');
  return {
    reasonCode: 'unknown_instrument',
    text: `This broker does not trade ${shown(instrument)}. It trades ${known}.`,
  };
}

/** Call only after `knownInstrument`. */
function instrumentOf(symbol: unknown): Instrument {
  return instruments.get(symbol as string) as Instrument;
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null;
}

/** @returns a payload value as JSON, truncated for a message. */
function shown(value: unknown): string {
  const text = JSON.stringify(value) as string | undefined;
  return (text ?? 'nothing').slice(0, 80);
}
