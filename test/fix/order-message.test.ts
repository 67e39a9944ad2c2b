/** The messages of an order at each venue, and what is refused instead of dropped. */
import fc from 'fast-check';
import t from 'tap';
import type { SentOrder } from '../../src/fix/fix-journal.js';
import type { Field } from '../../src/fix/message.js';
import {
  cancelRequest,
  clOrdIdOf,
  newOrder,
  statusRequest,
  type OrderRules,
} from '../../src/fix/order-message.js';
import { tags } from '../../src/fix/tags.js';
import { venues, type TimeInForce } from '../../src/fix/venues.js';
import { limitOrder, rules } from './memory-desk.js';

const now = Date.UTC(2026, 0, 31, 12);
const sent: SentOrder = {
  executionId: 'exe_1',
  clOrdId: 'id',
  seq: 2,
  life: 1,
  instrument: 'EUR/USD',
  side: '1',
  quantity: '100',
  timeInForce: 'day',
};

function written(payload: object, changed: Partial<OrderRules> = {}): string {
  const order = newOrder(payload as Record<string, unknown>, 'id', { ...rules, ...changed }, now);
  if ('reasonCode' in order) return `${order.reasonCode}: ${order.text}`;
  return order.fields.map(([tag, value]) => `${tag}=${value}`).join(' ');
}

t.test('each kind of order', async (t) => {
  const head = '11=id 1=A1 21=1 55=EUR/USD 54=1 60=20260131-12:00:00.000 38=100';
  t.equal(written(limitOrder), `${head} 40=2 44=1.1 59=0`);
  const { limitPrice, ...market } = limitOrder;
  t.equal(written({ ...market, executionType: 'market', timeInForce: 'ioc' }), `${head} 40=1 59=3`);
  t.equal(
    written({ ...market, executionType: 'stop', stopPrice: 1.2 }),
    `${head} 40=3 99=1.2 59=0`,
  );
  t.equal(
    written({
      ...limitOrder,
      executionType: 'stop_limit',
      stopPrice: 1.2,
      timeInForce: 'gtc',
      comment: 'a\x01b',
    }),
    `${head} 40=4 44=${limitPrice} 99=1.2 59=1 58=a b`,
  );
});

t.test('each side and each time in force, by the value that the standard has for it', async (t) => {
  for (const [side, value] of Object.entries({ buy: '1', sell: '2' })) {
    t.match(written({ ...limitOrder, side }), ` 54=${value} `);
  }
  for (const [timeInForce, value] of Object.entries({ day: '0', gtc: '1', ioc: '3', fok: '4' })) {
    t.match(written({ ...limitOrder, timeInForce }), new RegExp(` 59=${value}$`));
    const asked = written(limitOrder, { timeInForce: timeInForce as TimeInForce });
    t.match(asked, new RegExp(` 59=${value}$`), 'of an order that does not say');
  }
});

t.test(
  'requests on an order repeat its side and instrument, and say when they were made',
  async (t) => {
    const sell = { ...sent, side: '2', instrument: 'EUR/USD' };
    const shown = (fields: readonly Field[]): string =>
      fields.map(([tag, value]) => `${tag}=${value}`).join(' ');
    t.equal(
      shown(cancelRequest(sell, 'c', 'V1', rules, now)),
      '41=id 37=V1 11=c 1=A1 55=EUR/USD 54=2 60=20260131-12:00:00.000 38=100',
    );
    t.equal(shown(statusRequest(sell, undefined, rules)), '11=id 1=A1 55=EUR/USD 54=2');
  },
);

t.test('an instrument that no symbol names goes through as it is', async (t) => {
  t.match(written({ ...limitOrder, instrument: 'ES' }), / 55=ES /);
  t.match(written({ ...limitOrder, instrument: 'constructor' }), / 55=constructor /);
});

t.test('venues differ', async (t) => {
  t.match(written(limitOrder, { venue: venues.lmax }), /^11=id 1=A1 48=EUR\/USD 22=8 54=1 /);
  const gtc = { ...limitOrder, timeInForce: 'gtc' };
  t.match(written({ ...gtc, comment: 'x' }, { venue: venues.ctrader }), /^11=id 1=A1 55=.* 494=x$/);
  t.match(written(gtc, { venue: venues.bybit }), / 59=1 30010=spot$/);
  t.match(written(gtc, { venue: venues.bybit, beginString: 'FIX.4.2' }), / 21=1 /);
});

t.test('a payload is judged by the catalog, as at any other terminal', async (t) => {
  t.equal(written({ ...limitOrder, comment: '' }), written(limitOrder));
  t.match(written({ ...limitOrder, comment: '😀'.repeat(33) }), /^invalid_field: comment /);
  t.match(written({ ...limitOrder, instrument: '' }), /^invalid_field: instrument /);
  t.match(written({ ...limitOrder, quantity: 2e18 }), /^invalid_quantity: quantity /);
  t.match(written({ ...limitOrder, limitPrice: 2e18 }), /^invalid_price: limitPrice /);
});

t.test('what cannot be carried is refused, and named', async (t) => {
  const { limitPrice: _, ...market } = { ...limitOrder, executionType: 'market' };
  const refused: Record<string, object> = {
    'invalid_field: The terminal does not take the field "stopLoss".': {
      ...limitOrder,
      stopLoss: 1,
    },
    'invalid_field: The terminal does not take the field "takeProfit".': {
      ...limitOrder,
      takeProfit: 2,
    },
    'invalid_field: The terminal does not take the field "__proto__".': JSON.parse(
      JSON.stringify(limitOrder).replace('{', '{"__proto__":1,'),
    ) as object,
    'invalid_field: instrument must have no control characters.': {
      ...limitOrder,
      instrument: 'ES\x01',
    },
    'missing_field: The payload has no side.': { ...limitOrder, side: undefined },
    'invalid_field: side must be one of buy, sell, not "long".': { ...limitOrder, side: 'long' },
    'unsupported_execution_type: executionType must be one of market, limit, stop, stop_limit, not "toString".':
      { ...limitOrder, executionType: 'toString' },
    'invalid_quantity: quantity must be a number above 0 and at most 10^18, not 0.': {
      ...limitOrder,
      quantity: 0,
    },
    'invalid_quantity: quantity must be a number of up to 20 decimals.': {
      ...limitOrder,
      quantity: 4e-21,
    },
    'missing_limit_price: The payload has no limitPrice.': {
      ...limitOrder,
      limitPrice: undefined,
    },
    'invalid_price: limitPrice must be a number from -10^18 to 10^18, not "1.1".': {
      ...limitOrder,
      limitPrice: '1.1',
    },
    'invalid_field: A market order has no limitPrice.': { ...limitOrder, executionType: 'market' },
    'missing_field: The payload has no stopPrice.': { ...market, executionType: 'stop' },
    'invalid_field: timeInForce must be one of day, gtc, ioc, fok, not "gtd".': {
      ...limitOrder,
      timeInForce: 'gtd',
    },
    'invalid_price: limitPrice must be a number of up to 20 decimals.': {
      ...limitOrder,
      limitPrice: 4e-21,
    },
    'invalid_price: stopPrice must be a number of up to 20 decimals.': {
      ...market,
      executionType: 'stop',
      stopPrice: 4e-21,
    },
  };
  for (const [expected, payload] of Object.entries(refused)) t.equal(written(payload), expected);
  t.match(written({ ...limitOrder, timeInForce: null }), /^invalid_field: timeInForce/);
});

t.test('what the venue does not take is refused, and named', async (t) => {
  const gtc = { ...limitOrder, timeInForce: 'gtc' };
  const { limitPrice: stopPrice, ...unpriced } = gtc;
  const refused: Record<string, object> = {
    'invalid_field: timeInForce must be one of gtc, ioc, fok.': limitOrder,
    'unsupported_execution_type: executionType must be one of market, limit.': {
      ...unpriced,
      executionType: 'stop',
      stopPrice,
    },
    'invalid_field: The terminal does not take the field "comment".': { ...gtc, comment: '' },
  };
  for (const [expected, payload] of Object.entries(refused)) {
    t.equal(written(payload, { venue: venues.bybit }), expected);
  }
});

t.test('a number is written without an exponent and read back as it was', async () => {
  fc.assert(
    fc.property(fc.double({ min: 1e-12, max: 1e18, noNaN: true }), (quantity) => {
      const text = /(?:^| )38=(\S+)/.exec(written({ ...limitOrder, quantity }))?.[1] ?? '';
      const isNear = Math.abs(Number(text) - quantity) <= Math.max(1e-20, quantity * 1e-8);
      return /^\d+(\.\d+)?$/.test(text) && isNear;
    }),
  );
});

t.test('no text of a bot makes a field of its own', async () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, maxLength: 64 }), (instrument) => {
      const order = newOrder({ ...limitOrder, instrument }, 'id', rules, now);
      return 'reasonCode' in order || order.fields.every(([, value]) => !value.includes('\x01'));
    }),
  );
});

t.test('an id becomes a name of at most the venue’s length, another id another name', async (t) => {
  t.equal(clOrdIdOf('exe_01KGA2M5000000000000000001_0', 36), '01KGA2M5000000000000000001_0');
  t.equal(clOrdIdOf('exe_01KGA2M5000000000000000001_0', 28), '01KGA2M5000000000000000001_0');
  t.match(clOrdIdOf('exe_01KGA2M5000000000000000001_0', 27), /^[0-9a-f]{27}$/);
  t.equal(clOrdIdOf('exe_01KGA2M5000000000000000001_0', 20).length, 20);
  t.match(clOrdIdOf('exe_a b', 36), /^[0-9a-f]{36}$/);
  t.match(clOrdIdOf('id_of_another', 36), /^[0-9a-f]{36}$/);
  t.equal(clOrdIdOf('x'.repeat(128), 36).length, 36);
  fc.assert(
    fc.property(
      fc.string(),
      fc.string(),
      (a, b) => a === b || clOrdIdOf(a, 20) !== clOrdIdOf(b, 20),
    ),
  );
  t.equal(tags.ClOrdID, 11);
});
