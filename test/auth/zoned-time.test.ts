import t from 'tap';
import { parseZonedTime } from '../../src/auth/zoned-time.js';

t.test('one point in time is read from every form of ISO 8601 that names its zone', (t) => {
  const noon = Date.UTC(2026, 0, 31, 12);
  const cases: Record<string, number> = {
    '2026-01-31T12:00:00Z': noon,
    '2026-01-31T12:00:00.000Z': noon,
    '2026-01-31T12:00Z': noon,
    '2026-01-31T14:30:00+02:30': noon,
    '2026-01-31T07:00:00-05:00': noon,
    '2026-01-31T14:00:00+0200': noon,
    '2026-01-31T14:00:00+02': noon,
    '2026-01-31T12:00:00-00:00': noon,
    '2026-02-01T00:30:00+12:30': noon,
    '2026-01-31T12:00:00.5Z': noon + 500,
    '2026-01-31T12:00:00,25Z': noon + 250,
    '2026-01-31T12:00:00.123456+00:00': noon + 123,
    '2026-01-31T12:00:00.9999999Z': noon + 999,
    '2024-02-29T00:00:00Z': Date.UTC(2024, 1, 29),
    '0001-01-01T00:00:00Z': Date.parse('0001-01-01T00:00:00Z'),
  };
  for (const [text, unixMs] of Object.entries(cases)) t.equal(parseZonedTime(text), unixMs, text);
  t.end();
});

t.test('a time without a zone, a date that no calendar has and any other text are refused', (t) => {
  const cases = [
    '2026-01-31T12:00:00',
    '2026-01-31',
    '2026-02-29T00:00:00Z',
    '2026-02-30T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-10T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-31T24:00:00Z',
    '2026-01-31T12:60:00Z',
    '2026-01-31T12:00:60Z',
    '2026-01-31T12:00:00+24:00',
    '2026-01-31T12:00:00+02:60',
    '2026-01-31 12:00:00Z',
    '2026-01-31T12:00:00z',
    '2026-01-31T12:00:00 Z',
    ' 2026-01-31T12:00:00Z',
    '2026-01-31T12:00:00Z\n',
    '2026-1-31T12:00:00Z',
    '+002026-01-31T12:00:00Z',
    '20260131T120000Z',
    'Sat, 31 Jan 2026 12:00:00 GMT',
    '1769860800000',
    'tomorrow',
    '',
  ];
  for (const text of cases) t.equal(parseZonedTime(text), undefined, JSON.stringify(text));
  t.end();
});
