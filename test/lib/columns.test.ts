import t from 'tap';
import { columns } from '../../src/lib/columns.js';

t.test('columns are as wide as their widest cell, and lines end with their text', (t) => {
  const text = columns([
    ['ID', 'NAME', 'X'],
    ['1', 'a long name', ''],
    ['12345', 'b', 'y'],
  ]);
  t.equal(text, 'ID     NAME         X\n1      a long name\n12345  b            y');
  t.end();
});

t.test('a name cannot write to the terminal of the operator', (t) => {
  const text = columns([
    ['\u001b[2Jgone', 'two\nlines\r', 'three\u2028four', 'right\u202eleft', 'caf\u00e9 \u{1F600}'],
  ]);
  t.equal(text, '?[2Jgone  two?lines?  three?four  right?left  caf\u00e9 \u{1F600}');
  t.end();
});
