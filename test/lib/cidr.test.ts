import { isIP } from 'node:net';
import fc from 'fast-check';
import t from 'tap';
import { isCidr, isInRange, parseCidr, readAddress } from '../../src/lib/cidr.js';

function bytes(address: string): Uint8Array {
  return readAddress(address) ?? new Uint8Array(0);
}

t.test('a range holds the addresses that share its first bits, whatever the form', (t) => {
  const rows: readonly (readonly [range: string, inside: string[], outside: string[]])[] = [
    ['192.0.2.7', ['192.0.2.7', '::ffff:192.0.2.7'], ['192.0.2.6', '::1']],
    ['192.0.2.0/24', ['192.0.2.0', '192.0.2.255'], ['192.0.1.255', '192.0.3.0']],
    ['192.0.2.99/24', ['192.0.2.1'], ['192.0.3.99']],
    ['192.0.2.0/31', ['192.0.2.0', '192.0.2.1'], ['192.0.2.2']],
    ['10.0.0.0/9', ['10.127.255.255'], ['10.128.0.0', '11.0.0.0']],
    ['0.0.0.0/0', ['1.2.3.4', '255.255.255.255', '::ffff:1.2.3.4'], ['::1', '2001:db8::1']],
    ['::ffff:192.0.2.0/120', ['192.0.2.200', '::ffff:192.0.2.200'], ['192.0.3.1']],
    ['::ffff:0:0/96', ['192.0.2.7', '::ffff:192.0.2.7'], ['::1']],
    ['192.0.2.7', ['::ffff:192.0.2.7'], ['::ff:ffff:192.0.2.7', '::ff00:192.0.2.7']],
    ['2001:db8::/33', ['2001:db8:7fff::1'], ['2001:db8:8000::1', '2001:db9::1']],
    ['2001:db8::7', ['2001:db8:0:0:0:0:0:7'], ['2001:db8::8']],
    ['::/0', ['::1', '2001:db8::1'], ['192.0.2.7', '::ffff:192.0.2.7']],
  ];
  for (const [range, inside, outside] of rows) {
    const parsed = parseCidr(range);
    for (const address of inside) t.ok(isInRange(parsed, bytes(address)), `${address} in ${range}`);
    for (const address of outside) {
      t.notOk(isInRange(parsed, bytes(address)), `${address} not in ${range}`);
    }
    t.notOk(isInRange(parsed, new Uint8Array(0)), `an unknown address is not in ${range}`);
  }
  t.end();
});

t.test('every text of an IPv6 address is the same address', (t) => {
  const rows = [
    ['::192.0.2.7', '::c000:207', '0::192.0.2.7', '0:0:0:0:0:0:c000:0207'],
    ['::ffff:192.0.2.7', '::FFFF:c000:207', '0:0:0:0:0:ffff:192.0.2.7'],
    ['2001:db8::192.0.2.7', '2001:DB8::c000:207'],
    ['::0.0.0.1', '::1'],
  ];
  for (const [first = '', ...others] of rows) {
    for (const other of others)
      t.same(readAddress(other), readAddress(first), `${other} is ${first}`);
  }
  t.notOk(
    isInRange(parseCidr('192.0.2.7'), bytes('::192.0.2.7')),
    'an IPv6 address is not the IPv4 address',
  );
  t.end();
});

t.test('what is no address and no range is told from one', (t) => {
  const good = ['10.0.0.0/8', '::1', 'fd00::/8', '10.0.0.1', '0.0.0.0/0'];
  // oxfmt-ignore
  const bad = ['', 'proxy', '10.0.0.0/33', '::/129', '10/8', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0.0/-1', '010.0.0.1', ' 10.0.0.1', '[::1]', 'fe80::1%eth0', 'fe80::%eth0/10'];
  for (const text of good) t.ok(isCidr(text), text);
  for (const text of bad) {
    t.notOk(isCidr(text), text);
    t.throws(() => parseCidr(text), { message: `"${text}" is not an IP address or CIDR range.` });
  }
  t.end();
});

t.test('an address is read without its zone, and any other text is none', (t) => {
  const loopback = readAddress('::1');
  t.equal(loopback?.length, 16);
  for (const zone of ['eth0', 'eth-0', 'eth0.100', 'a:b']) {
    t.same(readAddress(`::1%${zone}`), loopback, zone);
  }
  for (const text of ['', '%', '127.1', '0x7f000001', '[::1]', '1.2.3.4%eth0', '::1%']) {
    t.equal(readAddress(text), undefined, text);
  }
  const nearlyAddress = fc.stringMatching(/^[019af:.%x[\]/-]{0,30}$/);
  fc.assert(
    fc.property(fc.oneof(nearlyAddress, fc.ipV4(), fc.ipV6(), fc.string()), (text) => {
      const found = readAddress(text);
      return found === undefined || isIP(text) !== 0;
    }),
    { numRuns: 2_000 },
  );
  t.end();
});
