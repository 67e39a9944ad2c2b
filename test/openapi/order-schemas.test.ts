/** The document's orders against those of the catalog: the same are valid. */
import t from 'tap';
import { commands, executionTypes } from '../../src/plugins/commands.js';
import { compileSchema } from '../../src/lib/schema.js';
import { mismatchOfValue } from '../support/api-document.js';

const isOfCatalog = compileSchema(commands['order/submit']);
const base = { instrument: 'ES', side: 'buy', quantity: 1 };
const prices = [{}, { limitPrice: 1 }, { stopPrice: 2 }, { limitPrice: 1, stopPrice: 2 }];
const changes = [
  {},
  { timeInForce: 'ioc', stopLoss: 1, takeProfit: 2, comment: 'c' },
  { timeInForce: 'never' },
  { side: 'none' },
  { quantity: 0 },
  { instrument: undefined },
  { colour: 'red' },
];

for (const executionType of [...executionTypes, 'other']) {
  t.test(`orders of type ${executionType}`, async (t) => {
    let valid = 0;
    for (const change of changes) {
      for (const price of prices) {
        const order: unknown = JSON.parse(
          JSON.stringify({ ...base, executionType, ...price, ...change }),
        );
        const mismatch = mismatchOfValue({ $ref: '#/components/schemas/OrderSubmit' }, order, 'it');
        t.equal(mismatch === undefined, isOfCatalog(order), JSON.stringify(order));
        if (mismatch === undefined) valid++;
      }
    }
    t.equal(valid, executionType === 'other' ? 0 : 2, 'one with its prices, one with all else');
  });
}
