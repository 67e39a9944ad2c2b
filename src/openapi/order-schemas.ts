/**
 * Derives the schemas of an order from the catalog, one for each execution type, so that a generated type has only
 * the prices of its execution type: generators ignore the conditions by which the catalog says so.
 */
import Type, { type TSchema } from 'typebox';
import { commands, type ExecutionType, executionTypes, pricesOf } from '../plugins/commands.js';

const { properties, required } = commands['order/submit'];
const allPrices: readonly string[] = Object.values(pricesOf).flat();

const titles = {
  market: 'MarketOrder',
  limit: 'LimitOrder',
  stop: 'StopOrder',
  stop_limit: 'StopLimitOrder',
} as const satisfies Record<ExecutionType, string>;

type OrderName = (typeof titles)[ExecutionType];

function orderOf(type: ExecutionType): TSchema {
  const own: readonly string[] = pricesOf[type];
  const fields = Object.entries(properties).filter(
    ([field]) => !allPrices.includes(field) || own.includes(field),
  );
  return Type.Unsafe<object>({
    type: 'object',
    required: [...required, ...own],
    properties: { ...Object.fromEntries(fields), executionType: { type: 'string', const: type } },
    additionalProperties: false,
  });
}

const orders = Object.fromEntries(
  executionTypes.map((type) => [titles[type], orderOf(type)]),
) as Record<OrderName, TSchema>;

export const orderSchemas = {
  OrderSubmit: Type.Unsafe<object>({
    oneOf: Object.values(orders),
    discriminator: {
      propertyName: 'executionType',
      mapping: Object.fromEntries(
        executionTypes.map((type) => [type, `#/components/schemas/${titles[type]}`]),
      ),
    },
    description: 'The payload of `order`/`submit`.',
  }),
  ...orders,
} as const;
