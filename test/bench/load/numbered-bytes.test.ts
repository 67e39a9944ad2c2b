import t from 'tap';
import { NumberedBytes } from '../../../bench/load/numbered-bytes.js';
import { numberOrigin } from '../../../bench/load/sample-event.js';

t.test('copies count up, in every place of the number', (t) => {
  const event = new NumberedBytes(Buffer.from(`<${numberOrigin}|${numberOrigin}>`));
  const text = event.copies(numberOrigin + 9_998, 3).toString();
  t.equal(text, '<1000009998|1000009998><1000009999|1000009999><1000010000|1000010000>');
  t.end();
});
