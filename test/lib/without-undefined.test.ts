import t from 'tap';
import { withoutUndefined } from '../../src/lib/without-undefined.js';

t.test('what is undefined is left out, and nothing else', async (t) => {
  const fields = { kept: 0, empty: '', none: null, unknown: undefined };
  t.strictSame(Object.entries(withoutUndefined(fields)), [
    ['kept', 0],
    ['empty', ''],
    ['none', null],
  ]);
});
