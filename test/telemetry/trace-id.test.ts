import fc from 'fast-check';
import t from 'tap';
import { createTraceIds } from '../../src/telemetry/trace-id.js';

const hex = (length: number): fc.Arbitrary<string> =>
  fc.string({
    unit: fc.constantFrom(...'0123456789abcdef'.split('')),
    minLength: length,
    maxLength: length,
  });
const isNotZero = (text: string): boolean => !/^0*$/.test(text);

t.test('a valid traceparent gives its trace id', (t) => {
  const next = createTraceIds();
  fc.assert(
    fc.property(
      hex(32).filter(isNotZero),
      hex(16).filter(isNotZero),
      hex(2),
      (trace, parent, flags) => {
        return next(`00-${trace}-${parent}-${flags}`) === trace;
      },
    ),
  );
  t.end();
});

const valid = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

t.test('of a later version the known part counts, whatever follows behind a hyphen', (t) => {
  const next = createTraceIds();
  for (const version of ['01', 'cc', 'fe', 'f0', '0f']) {
    const later = valid.replace('00-', `${version}-`);
    for (const header of [later, `${later}-`, `${later}-00`, `${later}-what the future.brings`]) {
      t.equal(next(header), '4bf92f3577b34da6a3ce929d0e0e4736', header);
    }
  }
  t.end();
});

t.test('any other header gives a fresh id', (t) => {
  const next = createTraceIds();
  const wrong = [
    '',
    valid.replace('00-', 'ff-'),
    valid.replace('00-', '0A-'),
    `${valid.replace('00-', 'ff-')}-00`,
    valid.replace('00-', '01-').slice(0, -1),
    `${valid.replace('00-', '01-')}x`,
    `${valid.replace('00-', '01-')}.00`,
    `01-${'0'.repeat(32)}-00f067aa0ba902b7-01-00`,
    valid.toUpperCase(),
    ` ${valid}`,
    `${valid} `,
    `${valid}-00`,
    `${valid},${valid}`,
    valid.slice(0, -1),
    valid.replaceAll('-', '_'),
    `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
    `00-4bf92f3577b34da6a3ce929d0e0e4736-${'0'.repeat(16)}-01`,
    valid.replace('4bf9', '4bg9'),
  ];
  for (const header of wrong) {
    const id = next(header);
    t.match(id, /^[0-9a-f]{32}$/, JSON.stringify(header));
    t.not(id, '4bf92f3577b34da6a3ce929d0e0e4736');
  }
  fc.assert(fc.property(fc.string(), (header) => /^[0-9a-f]{32}$/.test(next(header))));
  t.end();
});

t.test('fresh ids do not repeat, neither within a process nor between two', (t) => {
  const [first, second] = [createTraceIds(), createTraceIds()];
  const seen = new Set<string>();
  for (let i = 0; i < 10_000; i++) seen.add(first('')).add(second(''));
  t.equal(seen.size, 20_000);
  t.end();
});
