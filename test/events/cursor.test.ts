import t from 'tap';
import { formatCursor, readCursor } from '../../src/events/cursor.js';

t.test('a cursor is read back in its own epoch only', async (t) => {
  t.equal(formatCursor('ab12', 7), 'ab12-7');
  t.equal(readCursor('ab12-7', 'ab12'), 7);
  t.equal(readCursor('ab12-0', 'ab12'), 0);
  t.equal(readCursor('ab13-7', 'ab12'), undefined);
  t.equal(readCursor('ab12-9007199254740991', 'ab12'), Number.MAX_SAFE_INTEGER);
});

t.test('anything else is the cursor of no stream', async (t) => {
  for (const text of [
    '',
    '7',
    'ab12',
    'ab12-',
    '-7',
    'ab12-07',
    'ab12--7',
    'ab12-7 ',
    ' ab12-7',
    'ab12-7.5',
    'ab12-1e3',
    'AB12-7',
    'ab12-99999999999999999',
    'ab12-7\n',
  ]) {
    t.equal(readCursor(text, 'ab12'), undefined, JSON.stringify(text));
  }
});
