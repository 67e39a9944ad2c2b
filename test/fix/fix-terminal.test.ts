/** A bot, the gateway, `signalbox fix` and a venue, all over real sockets, with breaks in between. */
import { once } from 'node:events';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { numberOf, valueOf, type Field, type ReceivedMessage } from '../../src/fix/message.js';
import { tags, types } from '../../src/fix/tags.js';
import { certificatePem, privateKeyPem } from '../support/certificate.js';
import { openCuttingProxy } from '../support/cutting-proxy.js';
import { openReader } from '../support/event-reader.js';
import { eventually } from '../support/eventually.js';
import { startTestGateway } from '../support/gateway.js';
import { cancelOrder, startAcceptor, type Acceptor, type AcceptorOptions } from './acceptor.js';
import { source, startFix, type FixProcessOptions } from './fix-process.js';
import { limitOrder } from './memory-desk.js';

const gateway = await startTestGateway(t);

async function setUp(t: Test, options: AcceptorOptions = {}) {
  const user = await gateway.user();
  const venue = await startAcceptor(t, options);
  const setting: FixProcessOptions = {
    directory: t.testdir(),
    url: gateway.url,
    email: user.email,
    port: venue.port,
  };
  return { user, venue, setting };
}

const order = (payload: object = limitOrder): object => ({ type: 'order', cmd: 'submit', payload });

t.test('an order of a bot is filled at the venue', async (t) => {
  const { user, venue, setting } = await setUp(t);
  const fix = startFix(t, setting);
  await fix.ready();
  const requestId = await gateway.submit(user, order());
  const execution = await gateway.becomes(user, requestId, 'filled');
  t.match(execution, {
    filledQuantity: 100,
    averageFillPrice: 1.1,
    fills: [{ price: 1.1, quantity: 100 }],
    native: { state: 'Filled' },
  });
  t.equal(venue.orders.length, 1);
  t.equal(venue.ofType(types.TestRequest).length, 1, 'the logon was confirmed before');
  t.equal(`exe_${venue.orders[0]}`, execution.executionId);
  t.equal(await fix.stop(), 0);
  t.equal(venue.received.at(-1)?.type, types.Logout);
  t.equal(fix.errors(), '');
});

t.test('a cancel reaches the venue and comes back', async (t) => {
  const { user, venue, setting } = await setUp(t, {
    onMessage(message, venue) {
      if (message.type === types.NewOrderSingle) venue.rest(message);
      else cancelOrder(message, venue);
    },
  });
  await startFix(t, setting).ready();
  const requestId = await gateway.submit(user, order());
  const { orderRef } = await gateway.becomes(user, requestId, 'working');
  t.equal((await gateway.cancel(user, orderRef)).status, 202);
  const execution = await gateway.becomes(user, requestId, 'cancelled');
  t.match(execution, { reasonCode: 'cancelled_by_api', cancel: { status: 'cancelled' } });
  t.equal(venue.ofType(types.OrderCancelRequest).length, 1);
});

t.test(
  'killed with an order at the venue: what it missed is resent, and nothing leaves twice',
  async (t) => {
    const orders: Parameters<NonNullable<AcceptorOptions['onMessage']>>[0][] = [];
    const { user, venue, setting } = await setUp(t, {
      onMessage(message) {
        if (message.type === types.NewOrderSingle) orders.push(message);
      },
    });
    const first = startFix(t, setting);
    await first.ready();
    const requestId = await gateway.submit(user, order());
    const sent = await eventually(() => orders[0]);
    const before = numberOf(sent, tags.MsgSeqNum) as number;
    await first.kill();
    await eventually(() => !venue.isLoggedOn);
    venue.fill(sent);

    await startFix(t, setting).ready();
    const execution = await gateway.becomes(user, requestId, 'filled');
    t.equal(execution.fills.length, 1);
    t.equal(venue.orders.length, 1);
    const logon = venue.ofType(types.Logon).at(-1);
    t.ok((numberOf(logon as never, tags.MsgSeqNum) as number) > before, 'the sequence goes on');
    t.notOk(venue.received.some((message) => message.type === 'D' && valueOf(message, 43) === 'Y'));
  },
);

t.test('an order that the venue never took: it is asked, and says that it has none', async (t) => {
  const { user, venue, setting } = await setUp(t, {
    onMessage(message, venue) {
      if (message.type !== types.OrderStatusRequest) return;
      venue.report(message, [
        [tags.ExecID, '0'],
        [tags.ExecType, 'I'],
        [tags.OrdStatus, '8'],
        [tags.OrdRejReason, '5'],
        [tags.CumQty, '0'],
        [tags.LeavesQty, '0'],
        [tags.AvgPx, '0'],
        [tags.Text, 'unknown order'],
      ]);
    },
  });
  const first = startFix(t, setting);
  await first.ready();
  const before = venue.in;
  const requestId = await gateway.submit(user, order());
  await eventually(() => venue.orders.length === 1);
  await first.kill();
  // As if the line had broken with the order under way.
  venue.in = before;
  await startFix(t, setting).ready();
  const execution = await gateway.becomes(user, requestId, 'rejected');
  t.match(execution, { reasonCode: 'broker_rejected', native: { text: 'unknown order' } });
  t.equal(venue.orders.length, 1);
});

t.test('an order whose session journal was lost is unknown after the next start', async (t) => {
  const { user, venue, setting } = await setUp(t, {
    onMessage: (message, venue) => {
      if (message.type === types.NewOrderSingle) venue.rest(message);
    },
  });
  const first = startFix(t, setting);
  await first.ready();
  const requestId = await gateway.submit(user, order());
  await gateway.becomes(user, requestId, 'working');
  await first.stop();
  const files = readdirSync(setting.directory, { recursive: true, encoding: 'utf8' });
  rmSync(join(setting.directory, files.find((file) => file.endsWith('.fix')) as string));
  await startFix(t, { ...setting, session: { resetOnLogon: true } }).ready();
  const { native } = await gateway.becomes(user, requestId, 'unknown');
  t.match(native.text, `ClOrdID ${venue.orders[0]}`);
  t.equal(venue.orders.length, 1);
});

const losses: Record<string, (order: ReceivedMessage, venue: Acceptor) => void> = {
  'is refused': (order, venue) =>
    venue.report(order, [
      [tags.OrdStatus, '2'],
      [tags.CumQty, '100'],
      [tags.CumQty, '50'],
    ]),
  // A withheld message uses a number up; the venue fills the gap.
  'is passed over': (_, venue) => {
    venue.withhold(types.Heartbeat);
    venue.send(types.Heartbeat, []);
  },
  'stays away while the venue asks for the order again': (_, venue) =>
    venue.send(types.ResendRequest, [
      [tags.BeginSeqNo, '1'],
      [tags.EndSeqNo, '0'],
    ]),
};

for (const [how, lose] of Object.entries(losses)) {
  t.test(`a fill whose report ${how} within the session is asked for`, async (t) => {
    let sent: ReceivedMessage | undefined;
    const { user, venue, setting } = await setUp(t, {
      onMessage(message, venue) {
        if (message.type !== types.NewOrderSingle) return venue.fill(message);
        sent = message;
        venue.rest(message);
      },
    });
    await startFix(t, setting).ready();
    const requestId = await gateway.submit(user, order());
    await gateway.becomes(user, requestId, 'working');
    lose(sent as ReceivedMessage, venue);
    await gateway.becomes(user, requestId, 'filled');
    t.equal(venue.ofType(types.OrderStatusRequest).length, 1);
  });
}

t.test('a refused order and a refused cancel are told', async (t) => {
  const { user, setting } = await setUp(t, {
    onMessage(message, venue) {
      const id: Field = [tags.ClOrdID, valueOf(message, tags.ClOrdID) as string];
      if (message.type === types.OrderCancelRequest) {
        venue.send(types.OrderCancelReject, [id, [tags.OrdStatus, '0'], [tags.CxlRejReason, '3']]);
      } else if (venue.orders.length === 1) venue.rest(message);
      else {
        venue.send(types.BusinessMessageReject, [
          [tags.RefSeqNum, valueOf(message, tags.MsgSeqNum) as string],
          [tags.RefMsgType, message.type],
          [tags.BusinessRejectReason, '0'],
        ]);
      }
    },
  });
  await startFix(t, setting).ready();
  const rests = await gateway.submit(user, order());
  const { orderRef } = await gateway.becomes(user, rests, 'working');
  t.equal((await gateway.cancel(user, orderRef)).status, 202);
  await eventually(
    async () => (await gateway.execution(user, rests)).cancel?.status === 'rejected',
  );
  const refused = await gateway.submit(user, order());
  t.match(await gateway.becomes(user, refused, 'rejected'), { reasonCode: 'broker_rejected' });
});

t.test(
  'a warning is in the output, and bots get it, after a break of the gateway, too',
  async (t) => {
    const { user, venue, setting } = await setUp(t);
    const line = await openCuttingProxy(t, gateway.url);
    const fix = startFix(t, { ...setting, url: line.url });
    await fix.ready();
    const reader = await openReader(gateway.url, user.key, { source });
    t.teardown(() => reader.close());
    line.cut();
    await eventually(() => /gateway lost/.test(fix.output()));
    venue.send(types.ExecutionReport, [
      [tags.ClOrdID, 'other'],
      [tags.OrdStatus, '0'],
    ]);
    const said = /that this terminal does not know\. 11=other/;
    const { data } = await reader.next('terminal_message');
    t.match(data, { data: { level: 'warning', text: said } });
    await eventually(() => new RegExp(`warning .*${said.source}`).test(fix.output()));
  },
);

t.test('a connection that breaks is made again, and the numbers go on', async (t) => {
  const { user, venue, setting } = await setUp(t);
  const fix = startFix(t, setting);
  await fix.ready();
  await gateway.becomes(user, await gateway.submit(user, order()), 'filled');
  venue.cut();
  await eventually(() => venue.connections === 2 && venue.isLoggedOn);
  await eventually(() => fix.output().split('logged on').length === 3);
  await gateway.becomes(user, await gateway.submit(user, order()), 'filled');
  t.equal(new Set(venue.orders).size, 2);
  t.equal(venue.orders.length, 2);
});

t.test('while the venue is away an order is refused, and nothing leaves later', async (t) => {
  let isClosed = false;
  const { user, venue, setting } = await setUp(t, {
    refuses: () => (isClosed ? 'closed for the night' : undefined),
  });
  const fix = startFix(t, setting);
  await fix.ready();
  isClosed = true;
  venue.cut();
  await eventually(() => /venue lost/.test(fix.output()));
  const requestId = await gateway.submit(user, order());
  t.match(await gateway.becomes(user, requestId, 'rejected'), {
    reasonCode: 'terminal_not_connected_to_broker',
  });
  t.equal(venue.orders.length, 0);
});

t.test('a sequence that is too low ends the terminal with words', async (t) => {
  const { venue, setting } = await setUp(t, {
    refuses: (logon) =>
      (numberOf(logon, tags.MsgSeqNum) as number) < 40
        ? 'MsgSeqNum too low, expecting 40 but received 1'
        : undefined,
  });
  const fix = startFix(t, setting);
  t.equal(await fix.ended(), 1);
  t.match(fix.errors(), /MsgSeqNum too low, expecting 40.*resetOnLogon/);
  t.equal(venue.connections, 1);
});

t.test('what a venue says at the end cannot write to the operator’s screen', async (t) => {
  const { setting } = await setUp(t, { refuses: () => 'no\u001b[2J\nok' });
  const check = startFix(t, setting, ['--check']);
  t.equal(await check.ended(), 1);
  t.match(check.errors(), /^[^\n]*no\?\[2J\?ok[^\n]*\n$/);
});

t.test('resetOnLogon begins anew at each logon, on both sides', async (t) => {
  const { user, venue, setting } = await setUp(t);
  const anew = { ...setting, session: { resetOnLogon: true } };
  for (const round of [1, 2]) {
    const fix = startFix(t, anew);
    await fix.ready();
    await gateway.becomes(user, await gateway.submit(user, order()), 'filled');
    t.equal(
      numberOf(venue.ofType(types.Logon).at(-1) as never, tags.MsgSeqNum),
      1,
      `round ${round}`,
    );
    t.equal(await fix.stop(), 0);
  }
  t.equal(new Set(venue.orders).size, 2);
  t.strictSame(venue.ofType(types.TestRequest), [], 'there is nothing to confirm');
});

t.test('bots are told whether the venue is connected', async (t) => {
  const { user, venue, setting } = await setUp(t);
  // A stream is of a source that the gateway knows.
  (await gateway.plugin(user, source)).close();
  const events = await openReader(gateway.url, user.key, { source });
  const told = async (): Promise<unknown> =>
    (await events.next('connection_status')).data.data.status;
  const fix = startFix(t, setting);
  t.equal(await told(), 'connected', 'when the terminal joins');
  venue.cut();
  t.equal(await told(), 'disconnected');
  t.equal(await told(), 'connected');
  t.equal(await fix.stop(), 0);
  events.close();
});

t.test('TLS: a venue of a known authority, and not one of an unknown', async (t) => {
  const tls = { cert: certificatePem, key: privateKeyPem };
  const { user, setting } = await setUp(t, { tls });
  const ca = join(setting.directory, 'ca.pem');
  writeFileSync(ca, certificatePem);
  const known = { ...setting, directory: join(setting.directory, 'known') };
  await startFix(t, { ...known, session: { host: 'localhost', tls: true, tlsCa: ca } }).ready();
  await gateway.becomes(user, await gateway.submit(user, order()), 'filled');
  const unknown = { ...setting, directory: join(setting.directory, 'unknown') };
  const check = startFix(t, { ...unknown, session: { tls: true } }, ['--check']);
  t.equal(await check.ended(), 1);
  t.match(check.errors(), /^No logon at the venue: self-signed certificate/, 'and no warning');
});

t.test('--check logs on to both sides and leaves the numbers in order', async (t) => {
  const { user, venue, setting } = await setUp(t, {
    refuses(logon) {
      const said = [tags.Username, tags.HeartBtInt, tags.SenderSubID, 5_001];
      if (said.map((tag) => valueOf(logon, tag)).join() !== 'trader,7,DESK,N') return 'who?';
      return valueOf(logon, tags.Password) === 'open' ? undefined : 'wrong password';
    },
  });
  const session = { username: 'trader', heartBtIntSec: 7 };
  const more = { venue: { header: { 50: 'DESK' }, logon: { 5_001: 'N' } } };
  const wrong = startFix(t, { ...setting, session, more, secret: 'sesame' }, ['--check']);
  t.equal(await wrong.ended(), 1);
  t.match(wrong.errors(), /refuses the logon: wrong password/);
  const check = startFix(t, { ...setting, session, more, secret: 'open' }, ['--check']);
  t.equal(await check.ended(), 0);
  t.match(
    check.output(),
    /^ok +.*fix\.json\nok +gateway .*\nok +venue 127\.0\.0\.1:\d+, logged on and out\n$/,
  );
  t.equal(check.errors(), '');
  t.strictSame(await gateway.sources(user), [], 'no order can come');
  const fix = startFix(t, { ...setting, session, more, secret: 'open' });
  await fix.ready();
  await gateway.becomes(user, await gateway.submit(user, order()), 'filled');
  t.equal(venue.ofType(types.ResendRequest).length, 0);
  t.notMatch(fix.output(), /554=open/);
});

t.test('a check that is stopped before the venue has answered has not passed', async (t) => {
  const { setting } = await setUp(t);
  let logons = 0;
  const mute = createServer(
    (socket) => void socket.on('error', () => undefined).on('data', () => logons++),
  );
  t.teardown(() => mute.close());
  await once(mute.listen(0, '127.0.0.1'), 'listening');
  const { port } = mute.address() as AddressInfo;
  const check = startFix(t, { ...setting, port }, ['--check']);
  await eventually(() => logons > 0);
  t.equal(await check.stop(), 1);
  t.notMatch(check.output(), /^ok +venue/m);
  t.match(check.errors(), /^The check was stopped before the venue .* had taken the logon\./);
});

t.test('without a password for the gateway nothing is tried', async (t) => {
  const { venue, setting } = await setUp(t);
  for (const flags of [['--check'], []]) {
    const fix = startFix(t, { ...setting, url: 'http://127.0.0.1:1', password: '' }, flags);
    t.equal(await fix.ended(), 2);
    t.match(fix.errors(), /^SIGNALBOX_PASSWORD is not set/);
  }
  t.same(venue.received, []);
});

t.test('without a key that can sign the logon nothing is tried', async (t) => {
  const { venue, setting } = await setUp(t);
  const faults = [
    ['bybit', '', /: it is not set\.$/m],
    ['bybit', 'sesame', /: .*unsupported\.$/m],
    ['bitvavo', '', /: it is not set\.$/m],
  ] as const;
  for (const [name, secret, fault] of faults) {
    const more = { venue: name, orders: { timeInForce: 'gtc' } };
    const fix = startFix(
      t,
      { ...setting, url: 'http://127.0.0.1:1', session: { username: 'key' }, more, secret },
      ['--check'],
    );
    t.equal(await fix.ended(), 2);
    t.match(fix.errors(), /^SIGNALBOX_FIX_PASSWORD does not hold the key/);
    t.match(fix.errors(), fault);
    t.equal(fix.output(), '');
  }
  t.same(venue.received, []);
});

t.test('one state directory has one terminal', async (t) => {
  const { setting } = await setUp(t);
  await startFix(t, setting).ready();
  const second = startFix(t, setting);
  t.equal(await second.ended(), 2);
  t.match(second.errors(), /in use by another terminal/);
  t.equal(readdirSync(join(setting.directory, 'state')).length, 4, 'two journals and their locks');
});

t.test('a configuration with faults names each of them', async (t) => {
  const { setting } = await setUp(t);
  const more = { orders: { timeInForce: 'gtd' }, retries: 3 };
  const fix = startFix(t, { ...setting, session: { port: 0, senderCompId: 'a\x01b' }, more });
  t.equal(await fix.ended(), 2);
  for (const named of ['session.port', 'session.senderCompId', 'orders.timeInForce', 'retries']) {
    t.match(fix.errors(), `"${named}"`);
  }
});
