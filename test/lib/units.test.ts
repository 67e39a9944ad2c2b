import t from 'tap';
import { reachableHost } from '../../src/lib/host.js';
import { bytesText, durationText } from '../../src/lib/units.js';

t.test('bytes are shown in the unit that leaves a short number', (t) => {
  const shown = [0, 1023, 1024, 53_248, 2 ** 30, 3.5 * 2 ** 40, 2 ** 60].map(bytesText);
  t.same(shown, ['0 B', '1023 B', '1.0 kB', '52.0 kB', '1.0 GB', '3.5 TB', '1048576.0 TB']);
  t.end();
});

t.test('durations likewise', (t) => {
  const shown = [0, 0.0008, 0.9, 1, 119, 120, 7_199, 7_200, 172_800].map(durationText);
  t.same(shown, [
    '0.0 ms',
    '0.8 ms',
    '900.0 ms',
    '1.0 s',
    '119.0 s',
    '2.0 min',
    '120.0 min',
    '2.0 h',
    '2.0 days',
  ]);
  t.end();
});

t.test('an address that stands for all is none to connect to', (t) => {
  const shown = ['0.0.0.0', '::', '::1', '10.0.0.5', 'gateway.local'].map(reachableHost);
  t.same(shown, ['127.0.0.1', '[::1]', '[::1]', '10.0.0.5', 'gateway.local']);
  t.end();
});
