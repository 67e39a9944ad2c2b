import t from 'tap';
import ipaddr from 'ipaddr.js';
import { addressText, createClientAddress, partitionOf } from '../../src/quota/partition.js';

function bytes(address: string): Uint8Array {
  return Uint8Array.from(ipaddr.parse(address).toByteArray());
}

t.test('a client is an IPv4 address or the /64 of an IPv6 address', (t) => {
  const cases = {
    '192.0.2.7': '192.0.2.7',
    '::ffff:192.0.2.7': '192.0.2.7',
    '2001:db8:0:1:aaaa::1': '2001:db8:0:1::/64',
    '2001:db8:0:1:ffff:ffff:ffff:ffff': '2001:db8:0:1::/64',
    '2001:db8:0:2::1': '2001:db8:0:2::/64',
    '::1': '0:0:0:0::/64',
    '::fffe:192.0.2.7': '0:0:0:0::/64',
  };
  for (const [address, partition] of Object.entries(cases)) {
    t.equal(partitionOf(bytes(address)), partition, address);
  }
  t.equal(partitionOf(new Uint8Array(0)), 'unknown');
  t.end();
});

t.test(
  'the text of an address is its shortest, and a mapped IPv4 address is the IPv4 address',
  (t) => {
    const cases = {
      '192.0.2.7': '192.0.2.7',
      '::ffff:192.0.2.7': '192.0.2.7',
      '2001:db8:0:1:0:0:0:7': '2001:db8:0:1::7',
      '::1': '::1',
    };
    for (const [address, text] of Object.entries(cases)) {
      t.equal(addressText(bytes(address)), text, address);
    }
    t.equal(addressText(new Uint8Array(0)), 'unknown');
    t.end();
  },
);

t.test('without a trusted proxy X-Forwarded-For is never believed', (t) => {
  const clientAddress = createClientAddress([]);
  t.equal(addressText(clientAddress(bytes('127.0.0.1'), '203.0.113.9')), '127.0.0.1');
  t.equal(
    addressText(clientAddress(bytes('127.0.0.1'), '', () => bytes('203.0.113.9'))),
    '127.0.0.1',
  );
  t.end();
});

t.test('only a peer within the ranges is trusted, IPv4 as IPv4 whatever its form', (t) => {
  const isTrusted = trusts(['10.0.0.0/8', 'fd00::/8', '192.0.2.1']);
  for (const address of ['10.1.2.3', '::ffff:10.1.2.3', 'fd00::1', '192.0.2.1']) {
    t.equal(isTrusted(bytes(address)), true, address);
  }
  for (const address of ['11.0.0.1', '::ffff:11.0.0.1', 'fe80::1', '192.0.2.2', '::1']) {
    t.equal(isTrusted(bytes(address)), false, address);
  }
  t.equal(isTrusted(new Uint8Array(0)), false);
  t.equal(trusts(['::ffff:10.0.0.0/104'])(bytes('10.9.9.9')), true);
  t.equal(trusts(['::/0'])(bytes('10.9.9.9')), false, 'no IPv6 range holds IPv4');
  t.end();
});

t.test('behind a proxy the client is the right-most address that no proxy holds', (t) => {
  const clientAddress = createClientAddress(['10.0.0.0/8', '2001:db8:ffff::/48']);
  const peer = bytes('10.0.0.1');
  const cases: Record<string, string> = {
    '': '10.0.0.1',
    '203.0.113.9': '203.0.113.9',
    '198.51.100.1, 203.0.113.9': '203.0.113.9',
    '198.51.100.1, 203.0.113.9, 10.0.0.2': '203.0.113.9',
    '203.0.113.9,10.0.0.3 , 2001:db8:ffff::5': '203.0.113.9',
    '10.0.0.4, 10.0.0.5': '10.0.0.4',
    '203.0.113.9:51234': '203.0.113.9',
    '2001:db8:0:1::1': '2001:db8:0:1::1',
    '[2001:db8:0:1::1]': '2001:db8:0:1::1',
    '[2001:db8:0:1::1]:443': '2001:db8:0:1::1',
    '::ffff:203.0.113.9': '203.0.113.9',
    '203.0.113.9, unknown': '10.0.0.1',
    '203.0.113.9, unknown, 10.0.0.6': '10.0.0.6',
    garbage: '10.0.0.1',
    ',': '10.0.0.1',
    '203.0.113.9,': '10.0.0.1',
    ', 10.0.0.7': '10.0.0.7',
    '127.1': '10.0.0.1',
    '0x7f000001': '10.0.0.1',
    '[203.0.113.9': '10.0.0.1',
    'fe80::1%eth0': 'fe80::1',
    'fe80::1%eth-0': 'fe80::1',
    '203.0.113.9, [fe80::1%br-lan.1]:443': 'fe80::1',
  };
  for (const [forwardedFor, address] of Object.entries(cases)) {
    t.equal(addressText(clientAddress(peer, forwardedFor)), address, `"${forwardedFor}"`);
  }
  t.equal(
    addressText(clientAddress(bytes('11.0.0.1'), '203.0.113.9')),
    '11.0.0.1',
    'an untrusted peer is itself',
  );
  t.end();
});

t.test('a range that is none is refused by name', (t) => {
  t.throws(() => createClientAddress(['10.0.0.0/33']), {
    message: '"10.0.0.0/33" is not an IP address or CIDR range.',
  });
  t.end();
});

/** @returns whether an address counts that this peer names by the PROXY protocol. */
function trusts(cidrs: readonly string[]): (peer: Uint8Array) => boolean {
  const clientAddress = createClientAddress(cidrs);
  return (peer) =>
    addressText(clientAddress(peer, '', () => bytes('203.0.113.9'))) === '203.0.113.9';
}
