import t from 'tap';
import { isAccountName, shippedPlatforms, type Platform } from '../src/platforms.js';

const [named, loginAtServer] = shippedPlatforms as readonly [Platform, Platform];

t.test(
  'an account of the second family is a login and a server, whose name may have spaces',
  async (t) => {
    for (const name of [
      '12345@Broker-Live',
      '12345@Broker-Live 12',
      '1@A B C',
      '1@A  B',
      'x.y@Z',
    ]) {
      t.equal(isAccountName(loginAtServer, name), true, name);
    }
    for (const name of [
      '12345',
      '@Broker',
      '12345@',
      '12 345@Broker',
      '12345@ Broker',
      '12345@Broker ',
      '12345@Broker@Live',
      '12345@Broker\tLive',
      '12345@Broker\nLive',
    ]) {
      t.equal(isAccountName(loginAtServer, name), false, JSON.stringify(name));
    }
    t.equal(
      isAccountName(loginAtServer, `1@${'a '.repeat(50_000)}`),
      false,
      'without backtracking',
    );
    t.equal(isAccountName(named, 'any name, @ all'), true);
  },
);
