/**
 * Reads commands for the paper broker: by the catalog, then by what this broker trades. Returns the reason code
 * and the message of the first violated rule.
 */
import {
  isFault,
  readCommand,
  shown,
  type CommandFault,
  type ExecutionType,
  type Order,
  type Side,
  type TimeInForce,
} from '../plugins/commands.js';
import type { SubmitFrame } from '../plugins/protocol.js';
import { stepsIn } from '../lib/decimal.js';
import { instruments, type Instrument } from './instruments.js';
import { isPrice } from './price-feed.js';

export interface OrderRequest {
  readonly instrument: Instrument;
  readonly side: Side;
  readonly executionType: ExecutionType;
  readonly quantity: number;
  readonly limitPrice: number | undefined;
  readonly stopPrice: number | undefined;
  readonly timeInForce: TimeInForce;
  readonly stopLoss: number | undefined;
  readonly takeProfit: number | undefined;
  readonly comment: string | undefined;
  /** Number of partial fills that the order requests, if any. */
  readonly partialFills: number | undefined;
}

/** Bounds the number of reports per order. */
export const partialFillsMax = 100;

/** A field of this broker's own: in how many pieces an order is filled. */
type PaperOrderPayload = Order & { readonly partialFills?: unknown };

const prices = ['limitPrice', 'stopPrice', 'stopLoss', 'takeProfit'] as const;

export type PaperCommand =
  | { readonly name: 'order/submit'; readonly request: OrderRequest }
  | { readonly name: 'position/close'; readonly instrument: Instrument }
  | { readonly name: 'account/flatten' };

export function readPaperCommand(
  frame: Pick<SubmitFrame, 'signalType' | 'cmd' | 'payload'>,
): PaperCommand | CommandFault {
  const command = readCommand(frame, { extra: ['partialFills'] });
  if (isFault(command) || command.name === 'account/flatten') return command;
  const instrument = instruments.get(command.payload.instrument);
  if (instrument === undefined) return unknownInstrument(command.payload.instrument);
  if (command.name === 'position/close') return { name: command.name, instrument };
  const request = readOrder(command.payload, instrument);
  return isFault(request) ? request : { name: command.name, request };
}

function readOrder(order: PaperOrderPayload, instrument: Instrument): OrderRequest | CommandFault {
  const { side, executionType, quantity, limitPrice, stopPrice, stopLoss, takeProfit } = order;
  const request: OrderRequest = {
    instrument,
    side,
    executionType,
    quantity,
    limitPrice,
    stopPrice,
    timeInForce: order.timeInForce ?? 'gtc',
    stopLoss,
    takeProfit,
    comment: order.comment,
    partialFills: order.partialFills as number | undefined,
  };
  return quantityFault(request) ?? priceFault(request) ?? piecesFault(order) ?? request;
}

function unknownInstrument(symbol: string): CommandFault {
  const known = [...instruments.keys()].join(', ');
  return {
    reasonCode: 'unknown_instrument',
    text: `This broker does not trade ${shown(symbol)}. It trades ${known}.`,
  };
}

function quantityFault({ instrument, quantity }: OrderRequest): CommandFault | undefined {
  const { symbol, quantityStep } = instrument;
  if ((stepsIn(quantity, quantityStep) ?? 0) > 0) return undefined;
  return {
    reasonCode: 'invalid_quantity',
    text: `quantity of ${symbol} must be a multiple of ${quantityStep}, not ${quantity}.`,
  };
}

function priceFault(request: OrderRequest): CommandFault | undefined {
  const { symbol, tickSize } = request.instrument;
  const bad = prices.find((field) => {
    const price = request[field];
    return price !== undefined && !(isPrice(price) && (stepsIn(price, tickSize) ?? 0) > 0);
  });
  if (bad === undefined) return undefined;
  return {
    reasonCode: 'invalid_price',
    text: `${bad} of ${symbol} must be a positive multiple of ${tickSize}, not ${request[bad]}.`,
  };
}

function piecesFault({ partialFills }: PaperOrderPayload): CommandFault | undefined {
  const pieces = partialFills as number;
  if (partialFills === undefined) return undefined;
  if (Number.isInteger(partialFills) && pieces >= 1 && pieces <= partialFillsMax) return undefined;
  return {
    reasonCode: 'invalid_field',
    text: `partialFills must be a whole number from 1 to ${partialFillsMax}, not ${shown(partialFills)}.`,
  };
}

/**
 * Stop loss and take profit lie around the entry: on the wrong side of it they would close the position as soon
 * as it is open.
 * @param price the current one.
 */
export function exitFault(request: OrderRequest, price: number): CommandFault | undefined {
  const { side, limitPrice, stopPrice, stopLoss, takeProfit } = request;
  const entry = limitPrice ?? stopPrice ?? price;
  const gain = (exit = NaN): number => (side === 'buy' ? exit - entry : entry - exit);
  const field = gain(stopLoss) >= 0 ? 'stopLoss' : gain(takeProfit) <= 0 ? 'takeProfit' : undefined;
  if (field === undefined) return undefined;
  const text = `${field} of a ${side} at ${entry} cannot be ${request[field]}.`;
  return { reasonCode: 'invalid_price', text };
}
