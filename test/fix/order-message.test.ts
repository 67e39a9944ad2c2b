/** What an order becomes at which venue, and what is refused instead of passed over. */
import fc from 'fast-check';
import t from 'tap';
import { clOrdIdOf, newOrder, type OrderRules } from '../../src/fix/order-message.js';
import { tags } from '../../src/fix/tags.js';
import { venues } from '../../src/fix/venues.js';
import { limitOrder, rules } from './memory-desk.js';

const now = Date.UTC(2026, 0, 31, 12);

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

t.test('what cannot be carried is refused, and named', async (t) => {
  const refused: Record<string, object> = {
    'invalid_field: stopLoss is not carried to this venue.': { ...limitOrder, stopLoss: 1 },
    'invalid_field: __proto__ is not carried to this venue.': JSON.parse(
      JSON.stringify(limitOrder).replace('{', '{"__proto__":1,'),
    ) as object,
    'missing_field: side is missing.': { ...limitOrder, side: undefined },
    'invalid_field: side must be buy or sell.': { ...limitOrder, side: 'long' },
    'unsupported_execution_type: executionType must be one of market, limit, stop, stop_limit.': {
      ...limitOrder,
      executionType: 'toString',
    },
    'invalid_quantity: quantity must be a number above 0.': { ...limitOrder, quantity: 0 },
    'missing_limit_price: limitPrice is missing.': { ...limitOrder, limitPrice: undefined },
    'invalid_price: limitPrice must be a number.': { ...limitOrder, limitPrice: '1.1' },
    'invalid_field: limitPrice does not go with market.': {
      ...limitOrder,
      executionType: 'market',
    },
    'missing_field: stopPrice is missing.': {
      ...limitOrder,
      limitPrice: undefined,
      executionType: 'stop',
    },
    'invalid_field: timeInForce must be one of day, gtc, ioc, fok.': {
      ...limitOrder,
      timeInForce: 'gtd',
    },
    'invalid_price: limitPrice must be a number of up to 20 decimals.': {
      ...limitOrder,
      limitPrice: 4e-21,
    },
    'unknown_instrument: instrument is no name.': { ...limitOrder, instrument: 5 },
  };
  for (const [expected, payload] of Object.entries(refused)) t.equal(written(payload), expected);
  t.match(written({ ...limitOrder, timeInForce: null }), /^invalid_field: timeInForce/);
  t.match(
    written({ ...limitOrder, timeInForce: 'day' }, { venue: venues.bybit }),
    /^invalid_field/,
  );
  t.match(
    written({ ...limitOrder, timeInForce: 'gtc', comment: 'x' }, { venue: venues.bybit }),
    /^invalid_field: comment/,
  );
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
  t.equal(clOrdIdOf('exe_01KGA2M5000000000000000001_0', 20).length, 20);
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
