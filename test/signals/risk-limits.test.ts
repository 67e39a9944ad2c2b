import assert from 'node:assert/strict';
import t from 'tap';
import type { ApiKey, KeyLimits } from '../../src/model/records.js';
import type { Envelope } from '../../src/signals/envelope.js';
import { RiskLimits } from '../../src/signals/risk-limits.js';
import type { Target } from '../../src/signals/routing.js';
import { SimulatedClock } from '../support/simulated-clock.js';

const instrumentFault = { field: 'payload.instrument', code: 'instrument_not_allowed' };
const aboveLimit = { field: 'payload.quantity', code: 'above_limit' };
const unreadable = { field: 'payload.quantity', code: 'unreadable' };
const tooMany = { field: '$', code: 'too_many_open_orders' };

const keyOf = (limits?: KeyLimits | null) => ({ id: 7, limits }) as ApiKey;
const routed = { deniedFor: null } as Target;
const denied = { deniedFor: 'no_active_terminal' } as Target;

function judging(open = 0) {
  const clock = new SimulatedClock();
  const risks = new RiskLimits({ clock, openOrders: { of: (id) => (id === 7 ? open : 0) } });
  const orderOf = (payload: string, targets: readonly Target[], fields: object) => ({
    envelope: { type: 'order', cmd: 'submit', payload: JSON.parse(payload), ...fields } as Envelope,
    payload,
    targets,
  });
  const judge = (limits: KeyLimits, payload = '{}', targets = [routed], fields = {}) => {
    const refusal = risks.judge(keyOf(limits), orderOf(payload, targets, fields));
    if (refusal !== undefined) assert.equal(refusal.code, 'risk_limit_exceeded');
    return refusal?.details ?? [];
  };
  return { clock, risks, judge, order: orderOf('{}', [routed], {}) };
}

t.test('an instrument is allowed exactly as it is written', (t) => {
  const { judge } = judging();
  const limits = { allowedInstruments: ['ES', 'EUR/USD'] };
  for (const payload of ['{"instrument":"ES"}', '{"instrument":"EUR\\/USD"}']) {
    t.strictSame(judge(limits, payload), [], payload);
  }
  // oxfmt-ignore
  const bad = ['{}', '{"instrument":"es"}', '{"instrument":"ES "}', '{"instrument":["ES"]}', '{"instrument":null}', '{"Instrument":"ES"}',
    '{"instrument":"NQ","instrument":"ES"}', '{"instrument":"ES","INSTRUMENT":"NQ"}',
    '{"instrument":"ES","in\u017ftrument":"NQ"}', '{"instrument":"ES","\u0131nstrument":"NQ"}', '{"__proto__":{"instrument":"ES"}}'];
  for (const payload of bad) t.strictSame(judge(limits, payload), [instrumentFault], payload);
  t.end();
});

t.test('a quantity up to the limit is taken, and what is no number is unreadable', (t) => {
  const { judge } = judging();
  const limits = { maxOrderQuantity: 2.5 };
  for (const payload of [
    '{"quantity":2.5}',
    '{"quantity":0}',
    '{"quantity":-2.5}',
    '{"quantity":1,"leg":{"quantity":9}}',
  ]) {
    t.strictSame(judge(limits, payload), [], payload);
  }
  for (const payload of [
    '{"quantity":2.500001}',
    '{"quantity":3}',
    '{"quantity":-3}',
    '{"quantity":1e300}',
  ]) {
    t.strictSame(judge(limits, payload), [aboveLimit], payload);
  }
  // oxfmt-ignore
  const bad = ['{}', '{"quantity":"1"}', '{"quantity":null}', '{"quantity":[1]}', '{"quantity":1e999}', '{"Quantity":1}',
    '{"quantity":9,"quantity":1}', '{"quantity":1,"Quantity":9}', '{"quantity":1,"\\u0071uantity":1}'];
  for (const payload of bad) t.strictSame(judge(limits, payload), [unreadable], payload);
  t.end();
});

t.test('each execution of a signal counts as an open order, a denied one does not', (t) => {
  const { judge } = judging(2);
  t.strictSame(judge({ maxOpenOrders: 3 }), []);
  t.strictSame(judge({ maxOpenOrders: 2 }), [tooMany]);
  t.strictSame(judge({ maxOpenOrders: 3 }, '{}', [routed, routed]), [tooMany]);
  t.strictSame(judge({ maxOpenOrders: 4 }, '{}', [routed, denied, routed]), []);
  t.strictSame(judge({ maxOpenOrders: 1 }, '{}', [denied]), [], 'it adds no open order');
  t.end();
});

t.test('all that is above is told at once; other commands and keys have no limits', (t) => {
  const { judge, risks, order } = judging(2);
  const limits = { allowedInstruments: ['ES'], maxOrderQuantity: 1, maxOpenOrders: 1 };
  t.strictSame(judge(limits), [instrumentFault, unreadable, tooMany]);
  t.strictSame(judge(limits, '{}', [routed], { type: 'account' }), []);
  t.strictSame(judge(limits, '{}', [routed], { cmd: 'flatten' }), []);
  for (const none of [undefined, null]) t.equal(risks.judge(keyOf(none), order), undefined);
  t.end();
});

t.test(
  'in any second at most maxOrdersPerSecond orders are taken, and none is refused before',
  (t) => {
    const { clock, risks, order } = judging();
    const key = keyOf({ maxOrdersPerSecond: 2 });
    risks.take(key, { ...order.envelope, type: 'position' });
    const isTaken = () => {
      if (risks.judge(key, order) !== undefined) return false;
      risks.take(key, order.envelope);
      return true;
    };
    t.ok(isTaken());
    clock.advance(400);
    t.ok(isTaken());
    t.strictSame(risks.judge(key, order), { code: 'signal_rate_limit_exceeded', retryAfter: 0.6 });
    clock.advance(599);
    t.notOk(isTaken());
    clock.advance(1);
    t.equal(risks.judge(key, order), undefined, 'a judgement takes nothing');
    t.ok(isTaken());
    t.notOk(isTaken());
    t.equal(risks.judge({ ...key, id: 8 }, order), undefined, 'each key has its own');
    t.end();
  },
);
