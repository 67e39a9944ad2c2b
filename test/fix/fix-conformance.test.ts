/**
 * The conformance tests of plugins against the FIX terminal, with third-party venues where they are installed: an
 * order book, in which orders rest and fill, and a venue that fills every order at once.
 */
import t, { type Test } from 'tap';
import { tags, types } from '../../src/fix/tags.js';
import { valueOf, type ReceivedMessage } from '../../src/fix/message.js';
import { passesConformance, type Judgement } from '../conformance/judged-process.js';
import { cancelOrder, startAcceptor, type Acceptor } from './acceptor.js';
import { startFix } from './fix-process.js';
import { maker, standInTheMarket } from './maker.js';
import { missingQuickFix, startQuickFix } from './quickfix.js';

t.setTimeout(400_000);
t.jobs = 3;

function judges(
  t: Test,
  port: number,
  session: object,
  judgement: Judgement = {},
  directory = t.testdir(),
): Promise<void> {
  return passesConformance(
    t,
    (login) => startFix(t, { directory, port, session, ...login }),
    judgement,
  );
}

const parallel = { buffered: true };

t.test('at a venue in memory', parallel, async (t) => {
  const venue = await startAcceptor(t, {
    onMessage(message: ReceivedMessage, venue: Acceptor) {
      if (message.type === types.OrderCancelRequest) cancelOrder(message, venue);
      else if (valueOf(message, tags.OrdType) === '1') venue.fill(message);
      else venue.rest(message);
    },
  });
  await judges(t, venue.port, {});
});

t.test(
  'at an order book, FIX 4.2',
  { ...parallel, skip: missingQuickFix('ordermatch') },
  async (t) => {
    const traders = ['TRADER', maker];
    const directory = t.testdir();
    const { port, beginString } = await startQuickFix(t, 'ordermatch', directory, traders);
    await standInTheMarket(port, beginString);
    await judges(t, port, { beginString }, { fillPrice: 100 }, directory);
  },
);

t.test(
  'at a venue where no order rests, FIX 4.4',
  { ...parallel, skip: missingQuickFix('executor') },
  async (t) => {
    const directory = t.testdir();
    const { port } = await startQuickFix(t, 'executor', directory);
    await judges(
      t,
      port,
      {},
      { fillPrice: 100, without: ['rests', 'cancel', 'cancel_repeated', 'cancel_cut'] },
      directory,
    );
  },
);
