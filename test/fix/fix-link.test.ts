/** The connection to the venue, over real sockets: when the link reconnects. */
import { createServer } from 'node:net';
import t, { type Test } from 'tap';
import { FixJournal } from '../../src/fix/fix-journal.js';
import { FixLink, type FixLinkOptions, type FixNotice } from '../../src/fix/fix-link.js';
import { valueOf } from '../../src/fix/message.js';
import { tags, types } from '../../src/fix/tags.js';
import { systemClock, type Clock } from '../../src/lib/clock.js';
import { certificatePem, privateKeyPem } from '../support/certificate.js';
import { eventually } from '../support/eventually.js';
import { listenOnLoopback } from '../support/loopback-server.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { startAcceptor, type Acceptor } from './acceptor.js';
import { memoryFile } from './memory-desk.js';

/** A clock whose timers run twenty times as fast. */
const hastyClock: Clock = {
  ...systemClock,
  setTimer: (delayMs, task) => systemClock.setTimer(delayMs / 20, task),
};

/**
 * @returns the delays after sessions that were cut, each when it had stood for `stoodMs` by its clock.
 * @param goesAway whether the venue, after the first session, cuts each connection before it answers the logon.
 */
async function delaysAfterCuts(t: Test, stoodMs: number, goesAway = false): Promise<number[]> {
  const venue = await startAcceptor(t, {
    refuses() {
      if (goesAway && venue.connections > 1) venue.cut();
      return undefined;
    },
  });
  const retries: number[] = [];
  // The process has run for longer than any session.
  let skippedMs = 100_000;
  const clock: Clock = { ...hastyClock, monotonic: () => systemClock.monotonic() + skippedMs };
  const onNotice = (notice: FixNotice): void => {
    if (notice.kind === 'fix_lost') retries.push(notice.retryMs);
    if (notice.kind !== 'fix_logged_on') return;
    skippedMs += stoodMs;
    venue.cut();
  };
  const link = linkTo(venue, { clock, onNotice });
  link.start();
  await eventually(() => retries.length >= 4);
  await link.stop();
  return retries.slice(0, 4);
}

const nothing = (): void => undefined;

const session: FixLinkOptions['session'] = {
  beginString: 'FIX.4.4',
  senderCompId: 'TRADER',
  targetCompId: 'VENUE',
  heartBtIntSec: 3_600,
  resetOnLogon: false,
  confirmsLogon: false,
  headerFields: [],
  logonFields: () => [],
  supports: () => true,
};

function linkTo(venue: Pick<Acceptor, 'port'>, options: Partial<FixLinkOptions>): FixLink {
  return new FixLink({
    host: '127.0.0.1',
    port: venue.port,
    tls: undefined,
    session,
    journal: new FixJournal(memoryFile(), () => true, systemClock),
    clock: systemClock,
    random: () => 0,
    flushReports: nothing,
    mayLeave: () => true,
    onLoggedOn: nothing,
    onMessage: nothing,
    onMissed: nothing,
    onUnread: nothing,
    onTick: nothing,
    onNotice: nothing,
    ...options,
  });
}

t.test('a venue that breaks each session soon after the logon is not pressed', async (t) => {
  t.strictSame(await delaysAfterCuts(t, 1_000), [1_000, 2_000, 5_000, 10_000]);
});

t.test('after a session that has stood, the delays begin anew', async (t) => {
  t.strictSame(await delaysAfterCuts(t, 31_000), [1_000, 1_000, 1_000, 1_000]);
});

t.test('while a venue that was there is away, the delays grow', async (t) => {
  t.strictSame(await delaysAfterCuts(t, 31_000, true), [1_000, 2_000, 5_000, 10_000]);
});

t.test(
  'a refused logon ends the first attempt, and is tried again after an accepted one',
  async (t) => {
    let isClosed = false;
    const venue = await startAcceptor(t, { refuses: () => (isClosed ? 'closed' : undefined) });
    const said: FixNotice[] = [];
    const onNotice = (notice: FixNotice): void => {
      said.push(notice);
      if (notice.kind !== 'fix_logged_on') return;
      isClosed = true;
      venue.cut();
    };
    const link = linkTo(venue, { clock: hastyClock, onNotice });
    link.start();
    const message = 'The counterparty refuses the logon: closed.';
    const lost = await eventually(() =>
      said.find((each) => 'message' in each && each.message === message),
    );
    t.match(lost, { kind: 'fix_lost', retryMs: 30_000 });
    await link.stop();

    const first = linkTo(venue, { clock: hastyClock, onNotice });
    said.length = 0;
    first.start();
    const ended = await eventually(() =>
      said.find(({ kind }) => kind === 'fix_ended' || kind === 'fix_lost'),
    );
    t.match(ended, { kind: 'fix_ended', message });
  },
);

t.test(
  'a link that is stopped while it waits for its next attempt has no timer left',
  async (t) => {
    const venue = await startAcceptor(t);
    const clock = new SimulatedClock(Date.now());
    let isLost = false;
    const onNotice = ({ kind }: FixNotice): void => void (isLost ||= kind === 'fix_lost');
    const link = linkTo(venue, { clock, onNotice });
    link.start();
    await eventually(() => link.isLoggedOn);
    venue.cut();
    await eventually(() => isLost);
    await link.stop();
    t.equal(clock.timerCount, 0);
  },
);

t.test('what may not leave once it is durable does not: its number is passed over', async (t) => {
  const venue = await startAcceptor(t);
  let isDurable = false;
  const link = linkTo(venue, {
    flushReports: () => (isDurable = true),
    mayLeave: ({ type }) => !(isDurable && type === types.NewOrderSingle),
    onLoggedOn() {
      isDurable = false;
      link.send(types.NewOrderSingle, [[tags.ClOrdID, 'a']]);
      link.send(types.OrderStatusRequest, [[tags.ClOrdID, 'a']]);
    },
  });
  link.start();
  await eventually(() => venue.ofType(types.OrderStatusRequest).length === 1);
  t.strictSame(venue.ofType(types.NewOrderSingle), []);
  const [fill] = venue.ofType(types.SequenceReset);
  t.match(fill?.fields, [[tags.MsgSeqNum, '2']]);
  t.equal(fill && valueOf(fill, tags.NewSeqNo), '3');
  await link.stop();
  t.equal(venue.ofType(types.ResendRequest).length, 0);
});

t.test(
  'an answer that came during a pause of the terminal is read before it is missed',
  async (t) => {
    const venue = await startAcceptor(t);
    const clock = new SimulatedClock(Date.now());
    let heartbeats = 0;
    const link = linkTo(venue, {
      clock,
      session: { ...session, heartBtIntSec: 10 },
      onNotice(notice) {
        const isHeard = notice.kind === 'fix_received' && notice.message.type === types.Heartbeat;
        if (isHeard) heartbeats++;
      },
    });
    link.start();
    await eventually(() => link.isLoggedOn);
    // The venue now takes every message for one that it has had, the TestRequest, too.
    venue.in = 99;
    clock.advance(12_000);
    await eventually(() => venue.ofType(types.TestRequest).length === 1);
    venue.send(types.Heartbeat, []);
    clock.elapse(20_000);
    clock.advance(0);
    await eventually(() => heartbeats === 1);
    clock.advance(500);
    t.equal(link.isLoggedOn, true);
    venue.cut();
    await link.stop();
  },
);

t.test('a venue that does not read is left, and the reason is told', async (t) => {
  const venue = await startAcceptor(t);
  const said: FixNotice[] = [];
  const link = linkTo(venue, { onNotice: (notice) => void said.push(notice) });
  link.start();
  await eventually(() => link.isLoggedOn);
  venue.pause();
  // What the system takes for the venue is not counted.
  const text = 'x'.repeat(1 << 22);
  await eventually(() => {
    if (link.isLoggedOn) link.send(types.NewOrderSingle, [[tags.Text, text]]);
    return said.some(({ kind }) => kind === 'fix_lost');
  });
  t.match(
    said.find(({ kind }) => kind === 'fix_lost'),
    { message: 'the venue does not read what is sent to it', retryMs: 1_000 },
  );
  await link.stop();
});

t.test(
  'after a logout of the venue the next connection begins anew, and reads nothing of the last one',
  async (t) => {
    const venue = await startAcceptor(t);
    const link = linkTo(venue, { clock: hastyClock });
    link.start();
    await eventually(() => link.isLoggedOn);
    venue.send(types.Logout, []);
    // The rest never comes: the next logon is not a part of it.
    venue.write('8=FIX.4.4\x019=200\x0135=8\x01');
    await eventually(() => venue.connections > 1 && link.isLoggedOn);
    t.equal(venue.connections, 2);
    await link.stop();
  },
);

t.test('a garbled message is told and passed over, and the next one is read', async (t) => {
  const venue = await startAcceptor(t);
  const garbled: FixNotice[] = [];
  const link = linkTo(venue, {
    onNotice(notice) {
      if (notice.kind === 'fix_garbled') garbled.push(notice);
    },
  });
  link.start();
  await eventually(() => link.isLoggedOn);
  venue.write('8=FIX.4.4\x019=5\x0135=0\x0110=000\x01');
  venue.send(types.TestRequest, [[tags.TestReqID, 'a']]);
  await eventually(() => venue.ofType(types.Heartbeat).length === 1);
  t.strictSame(garbled, [{ kind: 'fix_garbled', message: 'the checksum is wrong' }]);
  await link.stop();
});

/** Takes connections and says nothing, whatever it is sent. */
async function startSilentVenue(t: Test): Promise<{ port: number; connections: number }> {
  const venue = { port: 0, connections: 0 };
  const server = createServer((socket) => {
    venue.connections++;
    socket.on('error', nothing).resume();
    t.teardown(() => socket.destroy());
  });
  venue.port = await listenOnLoopback(server);
  t.teardown(() => server.close());
  return venue;
}

t.test('a venue that does not answer the logon is left', async (t) => {
  const venue = await startSilentVenue(t);
  const clock = new SimulatedClock(Date.now());
  const said: FixNotice[] = [];
  const link = linkTo(venue, { clock, onNotice: (notice) => void said.push(notice) });
  link.start();
  await eventually(() => said.some(({ kind }) => kind === 'fix_sent'));
  clock.advance(10_000);
  await eventually(() => said.some(({ kind }) => kind === 'fix_lost'));
  t.match(said.at(-1), { message: 'the counterparty does not answer the logon' });
  await link.stop();
});

t.test(
  'a connection whose handshake does not end is given up in time, and one that stands is kept',
  async (t) => {
    const silent = await startSilentVenue(t);
    const clock = new SimulatedClock(Date.now());
    const said: FixNotice[] = [];
    const onNotice = (notice: FixNotice): void => void said.push(notice);
    const waiting = linkTo(silent, { clock, tls: { ca: undefined }, onNotice });
    waiting.start();
    await eventually(() => silent.connections === 1);
    clock.advance(15_000);
    await eventually(() => said.some(({ kind }) => kind === 'fix_lost'));
    t.match(said.at(-1), { message: 'no connection in time' });
    await waiting.stop();

    const link = linkTo(await startAcceptor(t), { clock });
    link.start();
    await eventually(() => link.isLoggedOn);
    clock.advance(15_000);
    t.equal(link.isLoggedOn, true);
    await link.stop();
  },
);

t.test('TLS: the server is told the name that it is called by', async (t) => {
  const names: string[] = [];
  const tls = {
    cert: certificatePem,
    key: privateKeyPem,
    SNICallback(name: string, done: (error: null) => void): void {
      names.push(name);
      done(null);
    },
  };
  const venue = await startAcceptor(t, { tls });
  const link = linkTo(venue, { host: 'localhost', tls: { ca: certificatePem } });
  link.start();
  await eventually(() => link.isLoggedOn);
  t.strictSame(names, ['localhost']);
  await link.stop();
});

t.test('if the journal cannot be written, nothing leaves and the terminal ends', async (t) => {
  const venue = await startAcceptor(t);
  let isFull = false;
  const file = {
    ...memoryFile(),
    sync() {
      if (isFull) throw new Error('disk full');
    },
  };
  const said: FixNotice[] = [];
  const link = linkTo(venue, {
    journal: new FixJournal(file, () => true, systemClock),
    onNotice: (notice) => void said.push(notice),
  });
  link.start();
  await eventually(() => link.isLoggedOn);
  isFull = true;
  link.send(types.NewOrderSingle, [[tags.ClOrdID, 'a']]);
  const ended = await eventually(() => said.find(({ kind }) => kind === 'fix_ended'));
  t.match(ended, { message: /^The journal cannot be written: disk full\./ });
  await eventually(() => !venue.isLoggedOn);
  t.strictSame(venue.orders, []);
  await link.stop();
});
