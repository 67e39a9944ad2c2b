/**
 * The catalog of commands: JSON Schemas of their payloads, and the reason code of each violation (section 10 of
 * the contract; COMMANDS.md documents it). The gateway passes payloads on unjudged. Terminals judge them, with
 * `readCommand`.
 */
import Type, { type Static, type TSchema } from 'typebox';
import { cutText } from '../lib/cut-text.js';
import { oneOf } from '../lib/json-types.js';
import { compileSchemas } from '../lib/schema.js';
import type { ReasonCode } from '../model/reason-codes.js';
import { amountMax, type SubmitFrame } from './protocol.js';

export const sides = ['buy', 'sell'] as const;
export const executionTypes = ['market', 'limit', 'stop', 'stop_limit'] as const;
export const timesInForce = ['day', 'gtc', 'ioc', 'fok'] as const;

export type Side = (typeof sides)[number];
export type ExecutionType = (typeof executionTypes)[number];
export type TimeInForce = (typeof timesInForce)[number];

/** The prices that an order of each type must have; it may have no other of `typePrices`. */
export const pricesOf = {
  market: [],
  limit: ['limitPrice'],
  stop: ['stopPrice'],
  stop_limit: ['limitPrice', 'stopPrice'],
} as const satisfies Record<ExecutionType, readonly string[]>;

const typePrices = ['limitPrice', 'stopPrice'] as const;

const instrument = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'Symbol as the terminal knows it.',
  examples: ['ES'],
});
const priceSchema = (description: string, example: number) =>
  Type.Number({
    minimum: -amountMax,
    maximum: amountMax,
    description,
    examples: [example],
  });

const orderFields = {
  instrument,
  side: oneOf(sides),
  executionType: oneOf(executionTypes),
  quantity: Type.Number({
    exclusiveMinimum: 0,
    maximum: amountMax,
    description: 'In the unit of the terminal: contracts, lots or pieces.',
    examples: [1],
  }),
  limitPrice: Type.Optional(priceSchema('Worst price of a limit or stop_limit order.', 5000.25)),
  stopPrice: Type.Optional(priceSchema('Price that triggers a stop or stop_limit order.', 5010)),
  timeInForce: Type.Optional(oneOf(timesInForce)),
  stopLoss: Type.Optional(priceSchema('Price at which the position is closed at a loss.', 4990)),
  takeProfit: Type.Optional(
    priceSchema('Price at which the position is closed with a gain.', 5020),
  ),
  comment: Type.Optional(
    Type.String({ maxLength: 64, description: 'Shown with the order.', examples: ['trend-7'] }),
  ),
};

/** Requires the prices of an order's type, and forbids the others. */
const priceConditions = executionTypes.map((type) => ({
  if: { type: 'object', properties: { executionType: { const: type } } },
  then: {
    type: 'object',
    required: [...pricesOf[type]],
    properties: Object.fromEntries(
      typePrices.map((field) => [field, !foreignPrices(type).includes(field)]),
    ),
  },
}));

const closed = { additionalProperties: false } as const;

/** `type/cmd` of the signal → schema of its payload. */
export const commands = {
  'order/submit': Type.Object(orderFields, { ...closed, allOf: priceConditions }),
  'position/close': Type.Object({ instrument }, closed),
  'account/flatten': Type.Object({}, closed),
} as const satisfies Record<string, TSchema>;

export type CommandName = keyof typeof commands;
export type Order = Static<(typeof commands)['order/submit']>;

export type Command = {
  [N in CommandName]: { readonly name: N; readonly payload: Static<(typeof commands)[N]> };
}[CommandName];

/** Why a terminal rejects a command. `text` is for `native.text`, and names the field. */
export interface CommandFault {
  readonly reasonCode: ReasonCode;
  readonly text: string;
}

type FieldName = keyof typeof orderFields;

/** `amountMax` in words. */
const mostText = `10^${Math.log10(amountMax)}`;
const mustOfPrice = `be a number from -${mostText} to ${mostText}`;

/** What a field must be, in words, and the reason code if it is not. */
// oxfmt-ignore
export const fieldFaults: Readonly<Record<FieldName, readonly [must: string, wrong: ReasonCode, missing?: ReasonCode]>> = {
  instrument:    ['be text of 1 to 64 characters', 'invalid_field'],
  side:          [`be one of ${sides.join(', ')}`, 'invalid_field'],
  executionType: [`be one of ${executionTypes.join(', ')}`, 'unsupported_execution_type'],
  quantity:      [`be a number above 0 and at most ${mostText}`, 'invalid_quantity'],
  limitPrice:    [mustOfPrice, 'invalid_price', 'missing_limit_price'],
  stopPrice:     [mustOfPrice, 'invalid_price'],
  timeInForce:   [`be one of ${timesInForce.join(', ')}`, 'invalid_field'],
  stopLoss:      [mustOfPrice, 'invalid_price'],
  takeProfit:    [mustOfPrice, 'invalid_price'],
  comment:       ['be text of at most 64 characters', 'invalid_field'],
};

const isValid = compileSchemas(orderFields);

export interface TerminalFields {
  /** Optional fields of the catalog that the terminal does not support. */
  readonly without?: readonly FieldName[];
  /** Fields of an order beyond the catalog, which the terminal validates itself. */
  readonly extra?: readonly string[];
}

/** @returns the command with its payload, or the first reason to reject it. Ignores no field. */
export function readCommand(
  { signalType, cmd, payload }: Pick<SubmitFrame, 'signalType' | 'cmd' | 'payload'>,
  { without = [], extra = [] }: TerminalFields = {},
): Command | CommandFault {
  const name = `${signalType}/${cmd}`;
  if (!Object.hasOwn(commands, name)) {
    const known = Object.keys(commands).join(', ');
    return { reasonCode: 'unknown_command', text: `The terminal knows ${known}.` };
  }
  const isOrder = name === 'order/submit';
  const schema = commands[name as CommandName];
  const given = Object.keys(payload).filter((field) => payload[field] !== undefined);
  const known = Object.keys(schema.properties).filter((field) => !without.includes(field as never));
  const taken = isOrder ? [...known, ...extra] : known;
  const fault =
    first(given, (field) => (taken.includes(field) ? undefined : unknown(field))) ??
    first(schema.required ?? [], (field) => missing(field as FieldName, payload)) ??
    first(known, (field) => wrong(field as FieldName, payload)) ??
    (isOrder ? priceFault(payload as Order) : undefined);
  return fault ?? ({ name, payload } as Command);
}

export function isFault(value: object): value is CommandFault {
  return 'reasonCode' in value;
}

/** An order has every price that its type needs, and none that its type does not use. */
function priceFault(order: Order): CommandFault | undefined {
  const { executionType } = order;
  return (
    first(pricesOf[executionType], (field) => missing(field, order)) ??
    first(foreignPrices(executionType), (field) =>
      order[field] === undefined
        ? undefined
        : { reasonCode: 'invalid_field', text: `A ${executionType} order has no ${field}.` },
    )
  );
}

function foreignPrices(type: ExecutionType): (typeof typePrices)[number][] {
  const own: readonly string[] = pricesOf[type];
  return typePrices.filter((field) => !own.includes(field));
}

function unknown(field: string): CommandFault {
  const text = `The terminal does not take the field ${shown(field)}.`;
  return { reasonCode: 'invalid_field', text };
}

function missing(
  field: FieldName,
  payload: Readonly<Record<string, unknown>>,
): CommandFault | undefined {
  if (payload[field] !== undefined && payload[field] !== null) return undefined;
  const [, , reasonCode = 'missing_field'] = fieldFaults[field];
  return { reasonCode, text: `The payload has no ${field}.` };
}

function wrong(
  field: FieldName,
  payload: Readonly<Record<string, unknown>>,
): CommandFault | undefined {
  const value = payload[field];
  if (value === undefined || isValid(field, value) === true) return undefined;
  const [must, reasonCode] = fieldFaults[field];
  return { reasonCode, text: `${field} must ${must}, not ${shown(value)}.` };
}

function first<T>(
  items: readonly T[],
  faultOf: (item: T) => CommandFault | undefined,
): CommandFault | undefined {
  for (const item of items) {
    const fault = faultOf(item);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** @returns a payload value as JSON, truncated for a message. */
export function shown(value: unknown): string {
  return cutText(value === undefined ? 'nothing' : JSON.stringify(value), 80);
}
