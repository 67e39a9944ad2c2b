import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { toUtc } from '../../src/plugins/evidence.js';

const dates = fc.date({
  min: new Date('1999-12-31T00:00:00Z'),
  max: new Date('2101-03-02T00:00:00Z'),
  noInvalidDate: true,
});

t.test('a time in UTC with milliseconds is left as it is, on every day', async () => {
  fc.assert(
    fc.property(dates, (date) => assert.equal(toUtc(date.toISOString()), date.toISOString())),
  );
  for (const day of ['01-31', '02-28', '04-30', '12-31']) {
    const time = `2026-${day}T23:59:59.999Z`;
    assert.equal(toUtc(time), time);
  }
});

t.test('a time with an offset is told in UTC', async () => {
  fc.assert(
    fc.property(dates, fc.integer({ min: -14 * 60, max: 14 * 60 }), (date, minutes) => {
      const local = new Date(date.getTime() + minutes * 60_000).toISOString().slice(0, -1);
      const two = (number: number): string => String(number).padStart(2, '0');
      const size = Math.abs(minutes);
      const offset = `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
      assert.equal(toUtc(local + offset), date.toISOString());
    }),
  );
});

t.test('a day that its month lacks is the one that the date has come to', async (t) => {
  t.equal(toUtc('2026-02-29T12:00:00.000Z'), '2026-03-01T12:00:00.000Z');
  t.equal(toUtc('2026-04-31T12:00:00.000Z'), '2026-05-01T12:00:00.000Z');
  t.equal(toUtc('2028-02-29T12:00:00.000Z'), '2028-02-29T12:00:00.000Z');
});
