/** The configuration: defaults, rows of venues and their parts, faults by name. */
import { createHmac, createVerify, generateKeyPairSync } from 'node:crypto';
import t from 'tap';
import { logonFields } from '../../src/fix/credentials.js';
import { readFixConfig, type FixConfig } from '../../src/fix/fix-config.js';
import { venues } from '../../src/fix/venues.js';

const least = {
  gateway: { url: 'http://127.0.0.1:8080', email: 'ann@example.com' },
  platform: 'terminal_a',
  instanceId: 'fix-1',
  accountName: 'ACC',
  stateDir: './fix-state',
  session: { host: 'fix.example.com', port: 9000, senderCompId: 'A', targetCompId: 'B' },
};

function read(changed: object = {}): FixConfig {
  return readFixConfig(JSON.stringify({ ...least, ...changed })) as FixConfig;
}

t.test('the least that there must be, and what goes without saying', async (t) => {
  const config = read();
  t.match(config.session, {
    tls: false,
    beginString: 'FIX.4.4',
    heartBtIntSec: 30,
    resetOnLogon: false,
  });
  t.strictSame(config.orders, { account: undefined, timeInForce: 'day', symbols: {} });
  t.strictSame(config.venue, venues.standard);
  t.strictSame(config.source, { platform: 'terminal_a', instanceId: 'fix-1', accountName: 'ACC' });
});

t.test('a venue by its name, or like one with other parts', async (t) => {
  t.strictSame(read({ venue: 'ctrader' }).venue, venues.ctrader);
  const venue = {
    like: 'ctrader',
    header: { 50: 'QUOTE' },
    commentTag: null,
    statusRequest: false,
  };
  t.strictSame(read({ venue }).venue, {
    ...venues.ctrader,
    header: [[50, 'QUOTE']],
    commentTag: null,
    statusRequest: false,
  });
});

t.test('each fault is named', async (t) => {
  const faults = (content: object | string): readonly string[] =>
    readFixConfig(typeof content === 'string' ? content : JSON.stringify(content)) as string[];
  t.strictSame(faults('{'), ['The file is not JSON.']);
  t.strictSame(faults('[]'), ['The file must hold a JSON object.']);
  const twice = JSON.stringify({ ...least, orders: { symbols: { A: 'B', a: 'C' } } });
  t.strictSame(faults(twice.replace('"a"', '"A"')), [
    '"orders.symbols.A" is given more than once.',
  ]);
  t.equal(faults({}).length, 10, 'all that must be there');
  const found = faults({
    ...least,
    password: 'secret',
    session: { ...least.session, port: '9000', password: 'secret' },
    venue: { like: 'nyse', header: { x: '1' }, timesInForce: [] },
    orders: [],
  });
  for (const name of [
    '"password"',
    '"session.port" is "9000"',
    '"session.password"',
    '"venue.like"',
    '"venue.header"',
    '"venue.timesInForce"',
    '"orders" must be an object',
  ]) {
    t.ok(
      found.some((fault) => fault.includes(name)),
      name,
    );
  }
  t.equal(found.length, 7);
});

t.test('credentials of a logon', async (t) => {
  const names = { senderCompId: 'ME', targetCompId: 'VENUE' };
  const time = '20231114-22:13:20.123';
  t.strictSame(logonFields('password', { ...names, username: 'ann', secret: 'x' }, 1, time), [
    [553, 'ann'],
    [554, 'x'],
  ]);
  t.strictSame(
    logonFields('password', { ...names, username: undefined, secret: undefined }, 1, time),
    [],
  );
  const signed = createHmac('sha256', 'secret').update('keyME71700000000123').digest('hex');
  t.strictSame(logonFields('bitvavo', { ...names, username: 'key', secret: 'secret' }, 7, time), [
    [553, 'key'],
    [554, signed],
  ]);
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const secret = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const [, length, data, expires] = logonFields(
    'bybit',
    { ...names, username: 'key', secret },
    1,
    time,
  );
  t.strictSame(expires, [30023, '1700000005123']);
  const signature = data?.[1] ?? '';
  t.strictSame(length, [95, `${signature.length}`]);
  t.ok(
    createVerify('sha256')
      .update('GET/realtime1700000005123')
      .verify(publicKey, signature, 'base64'),
  );
});
