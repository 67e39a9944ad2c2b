/** The configuration: defaults, rows of venues and their parts, faults by name. */
import { createHmac, createVerify, generateKeyPairSync } from 'node:crypto';
import t from 'tap';
import { logonFields } from '../../src/fix/credentials.js';
import { readFixConfig, type FixConfig } from '../../src/fix/fix-config.js';
import { gatewayUrlForm } from '../../src/terminal/session-login.js';
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
  t.strictSame(config.gateway, least.gateway);
  t.equal(config.stateDir, './fix-state');
  t.strictSame(config.source, { platform: 'terminal_a', instanceId: 'fix-1', accountName: 'ACC' });
});

t.test('a venue by its name, or like one with other parts', async (t) => {
  const orders = { timeInForce: 'gtc' };
  t.strictSame(read({ venue: 'ctrader', orders }).venue, venues.ctrader);
  const venue = {
    like: 'ctrader',
    header: { 50: 'QUOTE' },
    commentTag: null,
    statusRequest: false,
  };
  t.strictSame(read({ venue, orders }).venue, {
    ...venues.ctrader,
    header: [[50, 'QUOTE']],
    commentTag: null,
    statusRequest: false,
  });
});

t.test(
  'further fields are in the order of the file: the count of a group comes first',
  async (t) => {
    const content = JSON.stringify({ ...least, venue: { header: {}, order: 'parties' } });
    const parties = '{"453": "1", "448": "DESK", "447": "D", "452": "12"}';
    const config = readFixConfig(content.replace('"parties"', parties));
    t.match(config, {
      venue: {
        header: [],
        order: [
          [453, '1'],
          [448, 'DESK'],
          [447, 'D'],
          [452, '12'],
        ],
      },
    });
  },
);

t.test('a row of venues is the standard but for what its documents say', async (t) => {
  t.strictSame(venues.standard, {
    header: [],
    logon: [],
    order: [],
    credentials: 'password',
    instrument: 'symbol',
    handlInst: true,
    commentTag: 58,
    orderTypes: ['market', 'limit', 'stop', 'stop_limit'],
    timesInForce: ['day', 'gtc', 'ioc', 'fok'],
    clOrdIdLengthMax: 36,
    statusRequest: true,
  });
  const differences = {
    ctrader: {
      header: [
        [50, 'TRADE'],
        [57, 'TRADE'],
      ],
      commentTag: 494,
      orderTypes: ['market', 'limit', 'stop'],
      timesInForce: ['gtc', 'ioc'],
    },
    bybit: {
      order: [[30_010, 'spot']],
      credentials: 'bybit',
      commentTag: null,
      orderTypes: ['market', 'limit'],
      timesInForce: ['gtc', 'ioc', 'fok'],
      statusRequest: false,
    },
    bitvavo: {
      logon: [[5_001, 'N']],
      credentials: 'bitvavo',
      commentTag: null,
      timesInForce: ['gtc', 'ioc', 'fok'],
      statusRequest: false,
    },
    lmax: {
      instrument: 'securityId',
      commentTag: null,
      orderTypes: ['market', 'limit', 'stop'],
      clOrdIdLengthMax: 20,
    },
  } as const;
  for (const [name, difference] of Object.entries(differences)) {
    const row = { ...venues.standard, handlInst: false, ...difference };
    t.strictSame(venues[name as keyof typeof differences], row, name);
  }
  t.equal(Object.keys(venues).length, Object.keys(differences).length + 1);
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
  t.strictSame(
    faults(
      JSON.stringify(least).replace('"platform":', '"__proto__":{"platform":"a"},"platform":'),
    ),
    ['There is no setting "__proto__".'],
  );
  t.strictSame(faults({ ...least, 'venue.order': { 453: '1' } }), [
    'There is no setting "venue.order": write sections as objects.',
  ]);
  t.strictSame(faults({ ...least, orders: 'standard' }), ['"orders" must be an object.']);
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

t.test('the time in force of orders without one is one that the venue takes', async (t) => {
  const refused = ['"orders.timeInForce" is "day": for this venue it must be one of gtc, ioc.'];
  t.strictSame(read({ venue: 'ctrader' }), refused, 'the default');
  t.strictSame(read({ venue: 'ctrader', orders: { timeInForce: 'day' } }), refused);
  t.equal(read({ venue: 'ctrader', orders: { timeInForce: 'ioc' } }).orders.timeInForce, 'ioc');
});

t.test('settings that do not go together are named, all at once', async (t) => {
  const { session } = least;
  const tlsCa = ['"session.tlsCa" is given: "session.tls" must then be true.'];
  t.strictSame(read({ session: { ...session, tlsCa: 'ca.pem' } }), tlsCa);
  t.match(read({ session: { ...session, tlsCa: 'ca.pem', tls: true } }).session, { tls: true });
  for (const venue of ['bybit', 'bitvavo']) {
    const username = '"session.username" is missing: for this venue it must be the API key.';
    t.match(read({ venue, session: { ...session, tlsCa: 'ca.pem' } }), [
      ...tlsCa,
      username,
      /^"orders\.timeInForce"/,
    ]);
  }
});

const text = 'a text';
const value = 'a text without control characters';
const flag = 'true or false';
const day = 'a list of day, gtc, ioc, fok';
const tags = 'an object of texts by tag, such as {"50": "TRADE"}';
const symbols = 'an object of texts, such as {"EURUSD": "EUR/USD"}';
const noTexts = ['', 1, null, ['A']];
const noValues = [...noTexts, 'a\x01b', 'a\tb'];
const noMaps = ['A', ['A'], null, { 50: '' }, { 50: 1 }, { 50: 'a\x01b' }];

/** What each setting may be, what not, and the words for it. */
// oxfmt-ignore
const settings: Readonly<Record<string, readonly [takes: readonly unknown[], refuses: readonly unknown[], expected: string]>> = {
  'gateway.url':            [['http://10.0.0.1:8080', 'https://example.com'], ['', 1, null, 'ftp://example.com'], gatewayUrlForm],
  'gateway.email':          [['a'], noTexts, text],
  platform:                 [['terminal_b'], noTexts, text],
  instanceId:               [['', 'a'], [1, null, ['A']], text],
  accountName:              [['a'], noTexts, text],
  stateDir:                 [['a'], noTexts, text],
  'session.host':           [['a'], noTexts, text],
  'session.port':           [[1, 65_535], [0, 65_536, 1.5, '9000', null], 'a whole number from 1 to 65535'],
  'session.tls':            [[true, false], ['true', 1, null], flag],
  'session.tlsCa':          [['a'], noTexts, text],
  'session.beginString':    [['FIX.4.2', 'FIX.4.4'], ['FIX.4.3', '', null], 'one of FIX.4.2, FIX.4.4'],
  'session.senderCompId':   [['a'], noValues, value],
  'session.targetCompId':   [['a'], noValues, value],
  'session.username':       [['a'], noValues, value],
  'session.heartBtIntSec':  [[1, 3_600], [0, 3_601, 1.5, '30', null], 'a whole number from 1 to 3600'],
  'session.resetOnLogon':   [[true, false], ['true', 1, null], flag],
  'orders.account':         [['a'], noValues, value],
  'orders.timeInForce':     [['day', 'gtc', 'ioc', 'fok'], ['gtd', '', null], 'one of day, gtc, ioc, fok'],
  'orders.symbols':         [[{}, { EURUSD: 'EUR/USD' }], noMaps, symbols],
  'venue.like':             [Object.keys(venues), ['nyse', '', null], `one of ${Object.keys(venues).join(', ')}`],
  'venue.header':           [[{}, { 50: 'A' }, { 999_999_999: 'A' }], [...noMaps, { 0: 'A' }, { x: 'A' }, { 1_000_000_000: 'A' }], tags],
  'venue.logon':            [[{ 50: 'A' }], noMaps, tags],
  'venue.order':            [[{ 50: 'A' }], noMaps, tags],
  'venue.instrument':       [['symbol', 'securityId'], ['isin', '', null], 'one of symbol, securityId'],
  'venue.handlInst':        [[true, false], ['true', 1, null], flag],
  'venue.commentTag':       [[1, 99_999, null], [0, 100_000, 1.5, '58'], 'a tag, or null for none'],
  'venue.orderTypes':       [[['market'], ['market', 'limit', 'stop', 'stop_limit']], [[], ['trailing'], ['market', 1], 'market', null], 'a list of market, limit, stop, stop_limit'],
  'venue.timesInForce':     [[['gtc'], ['day', 'gtc', 'ioc', 'fok']], [[], ['gtd'], 'day', null], day],
  'venue.clOrdIdLengthMax': [[16, 36], [15, 37, 20.5, '20', null], 'a whole number from 16 to 36'],
  'venue.statusRequest':    [[true, false], ['true', 1, null], flag],
};

t.test('each setting takes what its words say, and nothing else', async (t) => {
  const readWith = (name: string, given: unknown): unknown => {
    const [section = '', part] = name.split('.');
    // What every venue takes.
    const session = { ...least.session, tls: true, username: 'ann' };
    const orders = { timeInForce: 'gtc' };
    const rest: Readonly<Record<string, unknown>> = { ...least, session, orders };
    const content = part === undefined ? given : { ...(rest[section] as object), [part]: given };
    return readFixConfig(JSON.stringify({ ...rest, [section]: content }));
  };
  for (const [name, [takes, refuses, expected]] of Object.entries(settings)) {
    for (const given of takes)
      t.notOk(Array.isArray(readWith(name, given)), `${name} ${JSON.stringify(given)}`);
    for (const given of refuses) {
      const fault = `"${name}" is ${JSON.stringify(given)}: it must be ${expected}.`;
      t.strictSame(readWith(name, given), [fault]);
    }
  }
  const missing = readFixConfig('{}') as string[];
  t.strictSame(missing.slice(0, 2), [
    `"gateway.url" is missing: it must be ${gatewayUrlForm}.`,
    '"gateway.email" is missing: it must be a text.',
  ]);
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
