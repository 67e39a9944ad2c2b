/**
 * Defines and validates the `data` of the events that terminals send. Each field may be absent or null, and
 * unlisted fields pass unchanged, because terminals differ in what they report. A listed field has the same
 * type at every terminal, so that a bot can rely on it.
 */
import Type, { type TSchema } from 'typebox';
import { compileSchemas, faultyField } from '../lib/schema.js';
import type { PluginEventName } from './event-names.js';

const text = Type.Unsafe<string | null>({ type: 'string', nullable: true });
const number = Type.Unsafe<number | null>({ type: 'number', nullable: true });
const flag = Type.Unsafe<boolean | null>({ type: 'boolean', nullable: true });
const record = Type.Unsafe<object | null>({ type: 'object', nullable: true });
const records = Type.Unsafe<object[] | null>({
  type: 'array',
  nullable: true,
  items: { type: 'object' },
});

/** Amounts are in the account's currency, quantities and prices in the terminal's units. */
// oxfmt-ignore
export const eventDataFields = {
  command_result:    { status: text, reasonCode: text },
  order_update:      { orderId: text, state: text, instrument: text, side: text, executionType: text, limitPrice: number, quantity: number, filledQuantity: number, remainingQuantity: number, averageFillPrice: number },
  execution_update:  { fillId: text, orderId: text, instrument: text, side: text, quantity: number, price: number, filledAt: text },
  position_update:   { instrument: text, side: text, quantity: number, averagePrice: number, marketPrice: number },
  cancel_update:     { cancelRequestId: text, status: text, reasonCode: text },
  account_update:    { currency: text, balance: number, equity: number, realizedProfit: number, unrealizedProfit: number },
  account_status:    { status: text, tradingEnabled: flag, isSimulated: flag },
  connection_status: { status: text, isSimulated: flag },
  source_status:     { status: text },
  state_snapshot:    { snapshotId: text, account: record, positions: records, orders: records, ordersOmitted: number },
  terminal_message:  { text: text, level: text, dropped: number, reason: text },
} as const satisfies Record<PluginEventName, Record<string, TSchema>>;

const schemas = Object.fromEntries(
  Object.entries<Record<string, TSchema>>(eventDataFields).map(([name, fields]) => [
    name,
    Type.Partial(Type.Object(fields)),
  ]),
);

const isValid = compileSchemas(schemas);

/** Whether `data` is valid for an event of this name. */
export function isEventData(name: PluginEventName, data: object): boolean {
  return isValid(name, data) === true;
}

/** @returns the first field of `data` that is wrong for an event of this name; undefined when none is. */
export function faultyDataField(name: PluginEventName, data: object): string | undefined {
  return faultyField(schemas[name] as TSchema, data);
}
