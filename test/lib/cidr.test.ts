import t from 'tap';
import { bytesOf, isCidr, isInRange, parseCidr } from '../../src/lib/cidr.js';

t.test('a range holds the addresses that share its first bits, whatever the form', (t) => {
  const rows: readonly (readonly [range: string, inside: string[], outside: string[]])[] = [
    ['192.0.2.7', ['192.0.2.7', '::ffff:192.0.2.7'], ['192.0.2.6', '::1']],
    ['192.0.2.0/24', ['192.0.2.0', '192.0.2.255'], ['192.0.1.255', '192.0.3.0']],
    ['192.0.2.99/24', ['192.0.2.1'], ['192.0.3.99']],
    ['192.0.2.0/31', ['192.0.2.0', '192.0.2.1'], ['192.0.2.2']],
    ['10.0.0.0/9', ['10.127.255.255'], ['10.128.0.0', '11.0.0.0']],
    ['0.0.0.0/0', ['1.2.3.4', '255.255.255.255', '::ffff:1.2.3.4'], ['::1', '2001:db8::1']],
    ['::ffff:192.0.2.0/120', ['192.0.2.200', '::ffff:192.0.2.200'], ['192.0.3.1']],
    ['2001:db8::/33', ['2001:db8:7fff::1'], ['2001:db8:8000::1', '2001:db9::1']],
    ['2001:db8::7', ['2001:db8:0:0:0:0:0:7'], ['2001:db8::8']],
    ['::/0', ['::1', '2001:db8::1'], ['192.0.2.7', '::ffff:192.0.2.7']],
  ];
  for (const [range, inside, outside] of rows) {
    const parsed = parseCidr(range);
    for (const address of inside)
      t.ok(isInRange(parsed, bytesOf(address)), `${address} in ${range}`);
    for (const address of outside) {
      t.notOk(isInRange(parsed, bytesOf(address)), `${address} not in ${range}`);
    }
    t.notOk(isInRange(parsed, new Uint8Array(0)), `an unknown address is not in ${range}`);
  }
  t.end();
});

t.test('what is no address and no range is told from one', (t) => {
  const good = ['10.0.0.0/8', '::1', 'fd00::/8', '10.0.0.1', '0.0.0.0/0'];
  // oxfmt-ignore
  const bad = ['', 'proxy', '10.0.0.0/33', '::/129', '10/8', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0.0/-1', '010.0.0.1', ' 10.0.0.1', '[::1]'];
  for (const text of good) t.ok(isCidr(text), text);
  for (const text of bad) {
    t.notOk(isCidr(text), text);
    t.throws(() => parseCidr(text), { message: `"${text}" is not an IP address or CIDR range.` });
  }
  t.end();
});
