import t from 'tap';
import { trailEvents, type TrailFields } from '../../src/model/trail-events.js';
import { createLog } from '../../src/telemetry/log.js';
import { createTrail, trailLinesPerSecond } from '../../src/telemetry/trail.js';
import { SimulatedClock } from '../support/simulated-clock.js';

const refusal: TrailFields<'refused'> = {
  traceId: 'a'.repeat(32),
  route: 'POST /api/v1/signals',
  status: 401,
  code: 'invalid_api_key',
  clientAddress: '192.0.2.1',
  userId: undefined,
  keyId: undefined,
};

function setUp(level: 'info' | 'warn' = 'info') {
  const clock = new SimulatedClock();
  const lines: any[] = [];
  const log = createLog(level, { write: (line: string) => void lines.push(JSON.parse(line)) });
  return { clock, lines, trail: createTrail(log, clock) };
}

t.test('a line has its event, its fields, and nothing for what is not known', async (t) => {
  const { lines, trail } = setUp();
  trail.note('refused', refusal);
  const { time, ...line } = lines[0];
  t.type(time, 'string');
  t.same(line, {
    level: 'info',
    event: 'refused',
    traceId: refusal.traceId,
    route: refusal.route,
    status: 401,
    code: 'invalid_api_key',
    clientAddress: '192.0.2.1',
    msg: trailEvents.refused.meaning,
  });
});

t.test(
  'in any second there are at most 100 lines of an event, then one that counts the rest',
  async (t) => {
    const { clock, lines, trail } = setUp();
    let made = 0;
    const note = (): void =>
      trail.note('refused', () => {
        made++;
        return refusal;
      });
    t.equal(trailLinesPerSecond, 100);
    for (let i = 0; i < 60; i++) note();
    clock.advance(900);
    for (let i = 0; i < 60; i++) note();
    t.equal(lines.length, 100, 'whatever second is looked at');
    t.equal(made, 100, 'nothing is made for a line that is not written');
    trail.note('login', { traceId: 't', clientAddress: 'c', userId: 'u' });
    t.equal(lines.at(-1).event, 'login', 'each event has lines of its own');
    clock.advance(100);
    note();
    t.equal(lines.length, 102, 'room comes back as the lines age');
    clock.advance(900);
    t.match(lines.at(-1), { event: 'omitted', of: 'refused', lines: 20 });
    const before = lines.length;
    clock.advance(5_000);
    t.equal(lines.length, before, 'once');
    for (let i = 0; i < 103; i++) note();
    clock.advance(1_000);
    t.match(lines.at(-1), { event: 'omitted', of: 'refused', lines: 3 });
  },
);

t.test('what was left out is counted by event, once, also before its second is over', async (t) => {
  const { clock, lines, trail } = setUp();
  for (let i = 0; i < trailLinesPerSecond + 2; i++) trail.note('refused', refusal);
  for (let i = 0; i < trailLinesPerSecond + 3; i++) trail.note('resumed', {});
  trail.tellOmitted();
  const counts = lines.filter(({ event }) => event === 'omitted');
  t.match(counts, [
    { of: 'refused', lines: 2 },
    { of: 'resumed', lines: 3 },
  ]);
  const { length } = lines;
  trail.tellOmitted();
  clock.advance(5_000);
  t.equal(lines.length, length);
});

t.test('below the level of the log nothing is made', async (t) => {
  const { clock, lines, trail } = setUp('warn');
  for (let i = 0; i < 200; i++) trail.note('refused', () => t.fail('not asked') as never);
  clock.advance(2_000);
  t.same(lines, []);
});

t.test('no field has a name under which a secret or a payload could stand', async (t) => {
  for (const [event, { fields }] of Object.entries(trailEvents)) {
    for (const field of fields) t.notMatch(field, /password|secret|token|payload|hash/i, event);
  }
});
