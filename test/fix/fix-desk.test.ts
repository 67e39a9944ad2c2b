/** Orders, cancels and doubts between the gateway's commands and the venue's messages. */
import t, { type Test } from 'tap';
import type { SentOrder } from '../../src/fix/fix-journal.js';
import { toFixTime } from '../../src/fix/fix-time.js';
import { venues } from '../../src/fix/venues.js';
import { toIsoTime } from '../../src/lib/clock.js';
import { decodeFrame } from '../../src/plugins/decode-frame.js';
import { Journal } from '../../src/terminal/journal.js';
import type { KnownExecution } from '../../src/terminal/plugin.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import {
  cancelId,
  cancelName,
  id,
  limitOrder,
  memoryFile,
  MemoryDesk,
  message,
  name,
} from './memory-desk.js';

const order = `D 11=${name} 1=A1 21=1 55=EUR/USD 54=1 38=100 40=2 44=1.1 59=0`;
const ask = `H 11=${name} 1=A1 55=EUR/USD 54=1`;
const askKnown = `H 37=V1 11=${name} 1=A1 55=EUR/USD 54=1`;
const cancel = `F 41=${name} 37=V1 11=${cancelName} 1=A1 55=EUR/USD 54=1 38=100`;
const request = { cancelRequestId: cancelId, executionId: id };
const isNew = `35=8|37=V1|17=E0|150=0|39=0|11=${name}|14=0|151=100|6=0`;
const rests = `35=8|37=V1|17=0|150=I|39=0|11=${name}|14=0|151=100|6=0`;
const isPartlyFilled = `35=8|37=V1|17=E1|150=F|39=1|11=${name}|14=40|151=60|6=1.1|31=1.1|32=40`;
const forgets = `35=8|37=NONE|17=0|150=I|39=8|103=5|11=${name}|14=0|151=0|6=0|58=unknown order`;

function working(): MemoryDesk {
  const desk = new MemoryDesk();
  desk.submit(id);
  desk.receive(isNew);
  desk.taken();
  return desk;
}

/** @returns a desk with a cancel reported as unknown, after two restarts: the first one writes the journal anew. */
function unknownCancel(t: Test): MemoryDesk {
  const first = working();
  first.desk.cancel(request);
  first.desk.loggedOn();
  first.pass(1);
  first.receive(rests);
  t.equal(first.taken().told.at(-1), `${cancelId} unknown`);
  return first.restarted().restarted();
}

/** @returns what was told, of events only the kind. */
function named(told: string[]): string[] {
  return told.map((said) => said.replace(/^event .*/, 'event'));
}

t.test('an order leaves, rests, fills in pieces', async (t) => {
  const desk = new MemoryDesk();
  desk.submit(id);
  t.strictSame(desk.taken(), { sent: [order], told: [] });
  desk.receive(isNew);
  desk.receive(isPartlyFilled);
  desk.receive(`35=8|37=V1|17=E2|150=F|39=2|11=${name}|14=100|151=0|6=1.09|31=1.08|32=60`);
  t.strictSame(desk.taken().told, [
    'working, 0 filled',
    'partially_filled, 40 filled, E1: 40 at 1.1',
    'filled, 100 filled, E2: 60 at 1.08',
  ]);
});

t.test('FIX 4.2 says a fill with ExecType 1 and 2', async (t) => {
  const desk = new MemoryDesk({ beginString: 'FIX.4.2' });
  desk.submit(id);
  desk.receive(`35=8|37=V1|17=E1|20=0|150=1|39=1|11=${name}|14=40|151=60|6=1.1|31=1.1|32=40`);
  desk.receive(`35=8|37=V1|17=E2|20=3|150=1|39=1|11=${name}|14=40|151=60|6=1.1|31=1.1|32=40`);
  desk.receive(`35=8|37=V1|17=E3|20=0|150=2|39=2|11=${name}|14=100|151=0|6=1.1|31=1.1|32=60`);
  t.strictSame(desk.taken().told, [
    'partially_filled, 40 filled, E1: 40 at 1.1',
    'partially_filled, 40 filled',
    'filled, 100 filled, E3: 60 at 1.1',
  ]);
});

t.test(
  '19 a report that comes again says nothing again; a late one still brings its fill',
  async (t) => {
    const desk = working();
    desk.receive(`35=8|37=V1|17=E2|150=F|39=2|11=${name}|14=100|151=0|6=1.09|31=1.08|32=60`);
    desk.receive(isPartlyFilled);
    desk.receive(isPartlyFilled.replace('35=8', '35=8|97=Y'));
    desk.receive(isNew);
    t.strictSame(desk.taken().told, [
      'filled, 100 filled, E2: 60 at 1.08',
      'filled, 100 filled, E1: 40 at 1.1',
    ]);
  },
);

t.test('what ends an order, and why', async (t) => {
  const ends: Record<string, string> = {
    '150=8|39=8|103=1': 'rejected, unknown_instrument, 0 filled',
    '150=8|39=8|103=99|58=no margin': 'rejected, broker_rejected, 0 filled',
    '150=4|39=4': 'cancelled, cancelled_by_broker, 0 filled',
    '150=C|39=C': 'expired, time_in_force_expired, 0 filled',
    '150=A|39=A': 'submitted, 0 filled',
  };
  for (const [fields, told] of Object.entries(ends)) {
    const desk = new MemoryDesk();
    desk.submit(id);
    desk.receive(`35=8|37=V1|17=E1|${fields}|11=${name}|14=0|151=0|6=0`);
    t.strictSame(desk.taken().told, [told]);
  }
  const ioc = new MemoryDesk();
  ioc.submit(id, { ...limitOrder, timeInForce: 'ioc' });
  ioc.receive(`35=8|37=V1|17=E1|150=4|39=4|11=${name}|14=0|151=0|6=0`);
  t.strictSame(ioc.taken().told, ['cancelled, time_in_force_expired, 0 filled']);
});

t.test('a day order that is done for the day has expired; one for longer goes on', async (t) => {
  const done = `35=8|37=V1|17=E2|150=3|39=3|11=${name}|14=40|6=1.1`;
  const told: readonly [timeInForce: string, left: number, told: string][] = [
    ['day', 0, 'expired, time_in_force_expired, 40 filled'],
    ['day', 60, 'partially_filled, 40 filled'],
    ['gtc', 0, 'partially_filled, 40 filled'],
  ];
  for (const [timeInForce, left, said] of told) {
    const desk = new MemoryDesk();
    desk.submit(id, { ...limitOrder, timeInForce });
    desk.receive(`${done}|151=${left}`);
    t.strictSame(desk.taken().told, [said]);
  }
  const filled = working();
  filled.receive(`${done.replace('14=40', '14=100')}|151=0`);
  t.strictSame(filled.taken().told, ['filled, 100 filled'], 'its last trade was missed');
  const calculated = working();
  calculated.receive(`35=8|37=V1|17=E3|150=B|39=B|11=${name}|14=40|151=0|6=1.1`);
  t.match(calculated.taken().told, [/^expired/], 'what its day has cost may be all that is said');
});

t.test('an order that is filled while its cancel is pending is filled', async (t) => {
  const desk = working();
  desk.desk.cancel(request);
  desk.taken();
  desk.receive(`35=8|37=V1|17=E1|150=6|39=6|11=${cancelName}|41=${name}|14=0|151=100|6=0`);
  desk.receive(`35=8|37=V1|17=E2|150=F|39=6|11=${name}|14=100|151=0|6=1.1|31=1.1|32=100`);
  desk.receive(`35=9|37=V1|11=${cancelName}|41=${name}|434=1|39=2|102=0`);
  t.strictSame(desk.taken().told, [
    'working, 0 filled',
    `${cancelId} pending`,
    'filled, 100 filled, E2: 100 at 1.1',
    `${cancelId} too_late, already_filled`,
  ]);
});

t.test('an order that is rejected after a fill is cancelled: its rest was refused', async (t) => {
  const told = {
    '|14=40': 'cancelled, cancelled_by_broker, 40 filled',
    '': 'cancelled, cancelled_by_broker',
  };
  for (const [filled, said] of Object.entries(told)) {
    const desk = working();
    desk.receive(isPartlyFilled);
    desk.receive(`35=8|37=V1|17=E2|150=8|39=8|103=0|11=${name}|151=0|6=1.1${filled}`);
    t.strictSame(desk.taken().told.slice(1), [said]);
  }
});

t.test('a trade that is taken back is said, and no quantity falls', async (t) => {
  const desk = working();
  desk.receive(isPartlyFilled);
  desk.taken();
  desk.receive(`35=8|37=V1|17=E2|150=H|39=0|11=${name}|14=0|151=100|6=0|31=1.1|32=40`);
  const { told } = desk.taken();
  t.equal(told.length, 1);
  t.match(told[0], /event .*takes back or corrects a trade/);
  desk.receive(`35=8|37=V1|17=E3|150=4|39=4|11=${name}|14=0|151=0|6=0`);
  t.strictSame(
    desk.taken().told,
    ['cancelled, cancelled_by_broker'],
    'its end is told all the same',
  );
  t.match(desk.plugin.execution(id), { filledQuantity: 40, remainingQuantity: 0 });
});

t.test(
  'forgotten after a trade that was taken back, and known again: what it is is told',
  async (t) => {
    for (const [report, told] of Object.entries({
      '150=I|39=4|14=0|151=0': 'cancelled, cancelled_by_broker',
      '150=I|39=0|14=0|151=100': 'working',
    })) {
      const desk = working();
      desk.receive(isPartlyFilled);
      desk.receive(`35=8|37=V1|17=E2|150=H|39=0|11=${name}|14=0|151=100|6=0|31=1.1|32=40`);
      desk.receive(`35=8|37=NONE|17=0|150=8|39=8|103=5|11=${name}|14=0|151=0|6=0`);
      t.match(desk.taken().told.at(-1), /^unknown/);
      desk.receive(`35=8|37=V1|17=0|${report}|11=${name}|6=0`);
      t.strictSame(desk.taken().told, [told]);
      t.equal(desk.plugin.execution(id)?.filledQuantity, 40);
    }
  },
);

t.test(
  'PendingNew is no answer: the order is asked for until the venue has taken it',
  async (t) => {
    const desk = new MemoryDesk();
    desk.submit(id);
    desk.receive(`35=8|37=V1|17=E0|150=A|39=A|11=${name}|14=0|151=100|6=0`);
    desk.taken();
    desk.pass(10);
    t.strictSame(desk.taken().sent, [askKnown]);
    desk.receive(isNew);
    desk.pass(200);
    t.strictSame(desk.taken().sent, []);
  },
);

t.test('an order that lives after it was rejected is said, since the status stays', async (t) => {
  const desk = new MemoryDesk();
  desk.submit(id);
  desk.pass(10);
  desk.receive(forgets);
  t.match(desk.taken().told, ['rejected, broker_rejected, 0 filled']);
  desk.receive(isNew);
  const { told } = desk.taken();
  t.equal(told.length, 1);
  t.match(told[0], /^event .*an order that it had rejected/);
});

t.test('a trade that is taken back answers no doubt: the order is asked for', async (t) => {
  const desk = new MemoryDesk();
  desk.submit(id);
  desk.receive(`35=8|37=V1|17=X1|19=E1|150=H|39=1|11=${name}|14=40|151=60|6=1.1`);
  desk.pass(10);
  t.strictSame(desk.taken().sent, [order, ask]);
});

t.test('a late fill of an order that has ended brings what the venue says is open', async (t) => {
  const desk = working();
  desk.receive(`35=8|37=V1|17=E2|150=4|39=4|11=${name}|14=0|151=100|6=0`);
  desk.receive(`35=8|37=V1|17=E1|150=F|39=1|11=${name}|14=40|151=0|6=1.1|31=1.1|32=40`);
  t.match(desk.plugin.execution(id), {
    status: 'cancelled',
    filledQuantity: 40,
    remainingQuantity: 0,
  });
});

t.test('a late trade that says no CumQty tells its fill and no quantity', async (t) => {
  for (const before of ['', '|14=0']) {
    const desk = new MemoryDesk();
    desk.submit(id);
    desk.receive(`35=8|37=V1|17=E1|150=4|39=4|11=${name}|151=0|6=0${before}`);
    desk.taken();
    desk.receive(`35=8|37=V1|17=E2|150=F|39=1|11=${name}|31=1.1|32=40`);
    t.strictSame(desk.taken().told, ['cancelled, E2: 40 at 1.1']);
  }
});

t.test('without a session an order is refused, since it did not leave', async (t) => {
  const desk = new MemoryDesk();
  desk.isLoggedOn = false;
  desk.submit(id);
  t.strictSame(desk.taken(), {
    sent: [],
    told: ['rejected, terminal_not_connected_to_broker'],
  });
});

t.test('what is no order is refused', async (t) => {
  const desk = new MemoryDesk();
  desk.submit(id, {}, 'flatten');
  t.strictSame(desk.taken(), { sent: [], told: ['rejected, unknown_command'] });
});

t.test('a reject by the number of an order, and by its name', async (t) => {
  for (const reject of ['35=3|45=2|58=no|373=5', `35=j|45=2|379=${name}|380=0|58=no`]) {
    const desk = new MemoryDesk();
    desk.submit(id);
    desk.receive(reject);
    t.strictSame(desk.taken().told, ['rejected, broker_rejected']);
    t.equal(desk.plugin.execution(id)?.native?.text, 'no');
  }
});

t.test('a reject by a number from before the sequence began anew means nothing', async (t) => {
  const desk = new MemoryDesk();
  desk.submit(id);
  desk.journal.noteReset();
  desk.receive('35=3|45=2|58=no|373=5');
  t.match(desk.taken().told, [/^event /]);
});

t.test('a refused question is no answer: it does not end its order', async (t) => {
  const refusals: Record<string, string[]> = {
    [`35=j|45=99|372=H|379=${name}|380=3|58=no`]: [],
    [`35=j|372=H|379=${name}|380=3|58=no`]: [],
    [`35=j|379=${name}|380=3|58=no`]: ['event'],
  };
  for (const [refusal, told] of Object.entries(refusals)) {
    const desk = working();
    desk.desk.loggedOn();
    desk.pass(1);
    t.strictSame(desk.taken().sent, [askKnown]);
    desk.receive(refusal);
    t.strictSame(named(desk.taken().told), told, refusal);
    t.equal(desk.plugin.execution(id)?.status, 'working');
  }
});

t.test(
  'a refused question of an earlier process leaves an order in the dark unknown',
  async (t) => {
    const before = new MemoryDesk();
    before.submit(id);
    before.pass(10);
    t.strictSame(before.taken().sent, [order, ask]);
    const after = before.restarted();
    after.receive(`35=j|45=3|372=H|379=${name}|380=3|58=no`);
    t.strictSame(after.taken().told, ['unknown']);
  },
);

t.test(
  'a refusal means what its RefMsgType says; without one a name beside another number means nothing',
  async (t) => {
    const meant: Record<string, [told: string, status: string]> = {
      [`372=F|45=2|379=${name}`]: ['event', 'submitted'],
      [`372=F|45=3`]: [`${cancelId} rejected, unable_to_cancel`, 'submitted'],
      [`372=F|379=${cancelName}`]: [`${cancelId} rejected, unable_to_cancel`, 'submitted'],
      [`372=D|45=3`]: ['event', 'submitted'],
      [`372=D|379=${name}`]: ['rejected, broker_rejected', 'rejected'],
      [`45=99|379=${name}`]: ['event', 'submitted'],
      [`379=${name}`]: ['rejected, broker_rejected', 'rejected'],
      [`372=0|45=2`]: ['event', 'submitted'],
    };
    for (const [fields, [told, status]] of Object.entries(meant)) {
      const desk = new MemoryDesk();
      desk.submit(id);
      desk.desk.cancel(request);
      desk.receive(`35=j|${fields}|380=0|58=no`);
      t.strictSame(named(desk.taken().told), [told], fields);
      t.equal(desk.plugin.execution(id)?.status, status, fields);
    }
  },
);

t.test('a cancel: pending, done', async (t) => {
  const desk = working();
  desk.desk.cancel(request);
  t.strictSame(desk.taken(), { sent: [cancel], told: [] });
  desk.receive(`35=8|37=V1|17=E1|150=6|39=6|11=${cancelName}|41=${name}|14=0|151=100|6=0`);
  desk.receive(`35=8|37=V1|17=E2|150=4|39=4|11=${cancelName}|41=${name}|14=0|151=0|6=0`);
  t.strictSame(desk.taken().told, [
    'working, 0 filled',
    `${cancelId} pending`,
    'cancelled, cancelled_by_api, 0 filled',
    `${cancelId} cancelled`,
  ]);
});

t.test('a cancel that the venue confirms under the name of the order', async (t) => {
  const desk = working();
  desk.desk.cancel(request);
  desk.receive(`35=8|37=V1|17=E2|150=4|39=4|11=${name}|14=0|151=0|6=0`);
  t.strictSame(desk.taken().told, [
    'cancelled, cancelled_by_api, 0 filled',
    `${cancelId} cancelled`,
  ]);
});

t.test('a cancel that comes too late, or is refused', async (t) => {
  const answers: Record<string, string> = {
    '39=2|102=0': 'too_late, already_filled',
    '39=4|102=0': 'cancelled',
    '39=8|102=1': 'rejected, order_unknown_at_terminal',
    '39=0|102=2|58=no': 'rejected, unable_to_cancel',
  };
  for (const [fields, told] of Object.entries(answers)) {
    const desk = working();
    desk.desk.cancel(request);
    desk.receive(`35=9|37=V1|11=${cancelName}|41=${name}|434=1|${fields}`);
    t.strictSame(desk.taken().told, [`${cancelId} ${told}`]);
  }
  const filled = working();
  filled.receive(`35=8|37=V1|17=E1|150=F|39=2|11=${name}|14=100|151=0|6=1.1|31=1.1|32=100`);
  filled.taken();
  filled.desk.cancel(request);
  t.strictSame(filled.taken(), {
    sent: [],
    told: [`${cancelId} too_late, already_filled`],
  });
});

t.test('a cancel of an order that never left here', async (t) => {
  const desk = new MemoryDesk();
  desk.desk.cancel(request);
  t.strictSame(desk.taken(), {
    sent: [],
    told: [`${cancelId} rejected, order_unknown_at_terminal`],
  });
});

t.test('a cancel waits for the session', async (t) => {
  const desk = working();
  desk.isLoggedOn = false;
  desk.desk.cancel(request);
  t.strictSame(desk.taken(), { sent: [], told: [] });
  desk.isLoggedOn = true;
  desk.desk.loggedOn();
  t.strictSame(desk.taken().sent, [cancel]);
});

t.test('a cancel that the venue says nothing of is unknown: it may be on its way', async (t) => {
  const desk = working();
  desk.desk.cancel(request);
  desk.taken();
  desk.desk.loggedOn();
  desk.pass(1);
  t.strictSame(desk.taken().sent, [askKnown]);
  desk.receive(rests);
  t.strictSame(desk.taken().told, ['working, 0 filled', `${cancelId} unknown`]);
  desk.pass(60);
  t.strictSame(desk.taken(), { sent: [], told: [] }, 'neither it nor the question leaves again');
  desk.receive(`35=8|37=V1|17=E1|150=4|39=4|11=${cancelName}|41=${name}|14=0|151=0|6=0`);
  t.strictSame(desk.taken().told, ['cancelled, cancelled_by_api, 0 filled']);
});

t.test(
  'the end of an order whose cancel is unknown is by that cancel; refused, it is not',
  async (t) => {
    const ended = `35=8|37=V1|17=E1|150=I|39=4|11=${name}|14=0|151=0|6=0`;
    const carriedOut = unknownCancel(t);
    carriedOut.receive(ended);
    t.strictSame(carriedOut.taken().told, ['cancelled, cancelled_by_api, 0 filled']);
    const refused = unknownCancel(t);
    refused.receive(`35=9|37=V1|11=${cancelName}|41=${name}|434=1|39=0|102=2`);
    refused.receive(ended);
    t.equal(refused.taken().told.at(-1), 'cancelled, cancelled_by_broker, 0 filled');
  },
);

t.test('an order that was unknown over a weekend is asked for, and its fill counts', async (t) => {
  const clock = new SimulatedClock();
  const files = { plugin: memoryFile(), fix: memoryFile() };
  const friday = new MemoryDesk({}, files.fix, new Journal(clock, files.plugin), clock);
  friday.submit(id);
  friday.receive(`35=j|372=H|379=${name}|380=3|58=closed`);
  t.strictSame(friday.taken().told, ['unknown']);
  for (const report of friday.plugin.unacknowledged()) friday.plugin.noteNumber(report.id, 1);
  friday.plugin.noteAcknowledged(1);
  clock.advance(3 * 86_400_000);
  const plugin = new Journal(clock, memoryFile(files.plugin.content()));
  const monday = new MemoryDesk({}, memoryFile(files.fix.content()), plugin, clock);
  monday.desk.loggedOn();
  monday.pass(1);
  t.strictSame(monday.taken().sent, [ask]);
  monday.receive(isPartlyFilled);
  t.strictSame(monday.taken().told, ['partially_filled, 40 filled, E1: 40 at 1.1']);
});

t.test(
  'the end under the name of a settled cancel alone is that of its order, also after restarts',
  async (t) => {
    const last = unknownCancel(t);
    last.receive(`35=8|37=V1|17=E1|150=4|39=4|11=${cancelName}|14=0|151=0|6=0`);
    t.strictSame(last.taken().told, ['cancelled, cancelled_by_api, 0 filled']);
  },
);

t.test('an answer to a question from before the cancel says nothing of the cancel', async (t) => {
  const desk = working();
  desk.desk.loggedOn();
  desk.pass(1);
  desk.desk.cancel(request);
  desk.taken();
  desk.receive(rests);
  t.strictSame(desk.taken().told, ['working, 0 filled']);
});

t.test(
  'an order without an answer is asked for three times, then people are told, and it is asked for slowly',
  async (t) => {
    const desk = new MemoryDesk();
    desk.submit(id);
    desk.taken();
    desk.pass(9);
    t.strictSame(desk.taken().sent, []);
    desk.pass(1);
    t.strictSame(desk.taken().sent, [ask]);
    desk.pass(89);
    t.strictSame(desk.taken(), { sent: [ask, ask], told: [] });
    desk.pass(1);
    const told =
      `event ${id} After 3 questions to the venue the state of this order is not certain. ` +
      `Ask the venue for ClOrdID ${name}. The terminal asks again every 10 minutes.`;
    t.strictSame(desk.taken(), { sent: [ask], told: [told] });
    desk.pass(3_600);
    t.strictSame(desk.taken(), { sent: Array(6).fill(ask), told: [] });
    desk.receive(rests);
    desk.pass(3_600);
    t.strictSame(desk.taken(), { sent: [], told: ['working, 0 filled'] }, 'until it is answered');
  },
);

t.test('a doubt that outlives its session is told once', async (t) => {
  const desk = working();
  desk.desk.loggedOn();
  desk.pass(120);
  t.strictSame(named(desk.taken().told), ['event']);
  desk.desk.loggedOn();
  desk.pass(120);
  t.strictSame(desk.taken(), { sent: Array(4).fill(askKnown), told: [] });
  desk.receive(rests);
  desk.taken();
  desk.desk.loggedOn();
  desk.pass(120);
  t.strictSame(named(desk.taken().told), ['event'], 'another doubt');
});

t.test('after a lost session every open order is asked for, and an ended one is not', async (t) => {
  const desk = working();
  desk.submit('exe_01KGA2M5000000000000000002_0');
  desk.receive('35=8|37=V2|17=E9|150=8|39=8|11=01KGA2M5000000000000000002_0|14=0|151=0|6=0');
  desk.taken();
  desk.desk.loggedOn();
  desk.pass(1);
  t.strictSame(desk.taken().sent, [askKnown]);
});

t.test('the answer to a doubt: it is there, it never arrived, or it is forgotten', async (t) => {
  const desk = new MemoryDesk();
  desk.submit(id);
  desk.desk.missed(1, 5);
  desk.pass(1);
  t.strictSame(desk.taken().sent, [order, ask]);
  desk.receive(forgets);
  t.strictSame(desk.taken().told, ['rejected, broker_rejected, 0 filled']);

  const held = working();
  held.receive(`35=8|37=V1|17=0|150=I|39=8|103=5|11=${name}|14=0|151=0|6=0|58=unknown order`);
  t.strictSame(held.taken().told, ['unknown']);

  const there = new MemoryDesk();
  there.submit(id);
  there.receive(`35=8|37=V1|17=0|150=I|39=1|11=${name}|14=40|151=60|6=1.1`);
  t.strictSame(there.taken().told, ['partially_filled, 40 filled']);
});

t.test(
  'an order that the venue had taken and forgot is unknown, however often it is asked',
  async (t) => {
    for (const report of [isNew, isPartlyFilled]) {
      const desk = new MemoryDesk();
      desk.submit(id);
      desk.receive(report);
      desk.receive(forgets);
      const { filledQuantity } = desk.plugin.execution(id) as never;
      desk.receive(forgets);
      t.strictSame(desk.taken().told.slice(1), ['unknown'], 'told once');

      // Twice: the first start writes the journal anew.
      const after = desk.restarted().restarted();
      after.receive(forgets);
      t.strictSame(after.taken().told, []);
      t.match(after.plugin.execution(id), { status: 'unknown', filledQuantity });
      after.receive(isPartlyFilled.replaceAll('E1', 'E2').replace('14=40', '14=80'));
      t.strictSame(
        after.taken().told,
        ['partially_filled, 80 filled, E2: 40 at 1.1'],
        'it goes on',
      );
    }
  },
);

t.test('a fill of an order that stays unknown is told', async (t) => {
  const desk = new MemoryDesk();
  desk.submit(id);
  desk.receive(isPartlyFilled);
  desk.receive(forgets);
  desk.taken();
  // Filled below what was filled before: a trade may have been taken back, and the order made smaller at the venue.
  desk.receive(`35=8|37=V1|17=E2|150=F|39=2|11=${name}|14=20|151=0|6=1.2|31=1.2|32=20`);
  t.strictSame(desk.taken().told, ['unknown, 40 filled, E2: 20 at 1.2']);
});

t.test('what became of its cancel is unknown too, until evidence comes', async (t) => {
  const desk = working();
  desk.desk.cancel(request);
  desk.pass(10);
  desk.taken();
  desk.receive(forgets);
  t.strictSame(desk.taken().told, ['unknown', `${cancelId} unknown`]);
  desk.pass(120);
  t.strictSame(desk.taken().sent, [], 'it has answered');
  desk.receive(`35=8|37=V1|17=E2|150=4|39=4|11=${cancelName}|41=${name}|14=0|151=0|6=0`);
  t.strictSame(desk.taken().told, [
    'cancelled, cancelled_by_api, 0 filled',
    `${cancelId} cancelled`,
  ]);
});

t.test('a forgotten order keeps its number: a cancel of it names it', async (t) => {
  const desk = working();
  desk.receive(forgets);
  t.equal(desk.plugin.execution(id)?.native?.orderId, 'V1');
  desk.taken();
  desk.desk.cancel(request);
  t.strictSame(desk.taken().sent, [cancel]);
});

t.test(
  'a journal that did not note what the venue had taken: what was reported tells',
  async (t) => {
    const file = memoryFile();
    const before = new MemoryDesk({}, file);
    before.submit(id);
    before.receive(isNew);
    const older = file.content().filter((line) => !line.includes('taken'));
    const after = new MemoryDesk({}, memoryFile(older), before.plugin);
    after.receive(forgets);
    after.receive(forgets);
    t.strictSame(after.taken().told, ['unknown']);
  },
);

t.test(
  'an order that was unknown for want of an answer never arrived, if the venue says so',
  async (t) => {
    const desk = new MemoryDesk();
    desk.submit(id);
    desk.receive(`35=j|372=H|379=${name}|380=3|58=no`);
    desk.receive(forgets);
    t.strictSame(desk.taken().told, ['unknown', 'rejected, broker_rejected, 0 filled']);
  },
);

t.test(
  'a venue that does not answer for an order: unknown, unless something is known',
  async (t) => {
    const refusing = new MemoryDesk();
    refusing.submit(id);
    refusing.desk.missed(1, 5);
    refusing.pass(1);
    refusing.taken();
    refusing.receive('35=j|45=3|372=H|380=3|58=Unsupported Message Type');
    t.strictSame(refusing.taken().told, ['unknown']);
    refusing.receive(isNew);
    t.strictSame(refusing.taken().told, ['working, 0 filled'], 'evidence corrects it');

    const without = new MemoryDesk({ venue: venues.bybit, timeInForce: 'gtc' });
    without.submit(id);
    without.pass(10);
    t.strictSame(without.taken().told, ['unknown']);
  },
);

t.test('a question that the venue has not taken is asked again at once', async (t) => {
  const desk = working();
  desk.desk.loggedOn();
  desk.pass(1);
  t.strictSame(desk.taken().sent, [askKnown]);
  desk.desk.missed(3, 3);
  desk.pass(1);
  t.strictSame(desk.taken().sent, [askKnown]);
});

t.test(
  'a report that was refused: each order that it names is asked for, and no other',
  async (t) => {
    const desk = working();
    const other = '01KGA2M5000000000000000002_0';
    desk.submit(`exe_${other}`);
    desk.receive(isNew.replace(name, other).replace('37=V1', '37=V2'));
    desk.taken();
    desk.desk.unread(message(`35=8|11=${name}|14=1|14=2`));
    desk.pass(1);
    t.strictSame(desk.taken().sent, [askKnown]);
    desk.desk.unread(message(`35=8|11=not-ours|11=${other}|39=2`));
    desk.pass(1);
    t.strictSame(desk.taken().sent, [`H 37=V2 11=${other} 1=A1 55=EUR/USD 54=1`]);
    desk.desk.unread(message('35=8|11=not-ours|14=1|14=2'));
    desk.desk.unread(message('35=1'));
    desk.pass(9);
    t.strictSame(desk.taken().sent, []);
  },
);

t.test('answers that are refused each time do not begin the questions anew', async (t) => {
  const desk = working();
  const refused = message(`35=8|150=I|11=${name}|14=1|14=2`);
  desk.desk.unread(refused);
  let asked = 0;
  for (let second = 0; second < 600; second++) {
    desk.pass(1);
    const { sent } = desk.taken();
    asked += sent.length;
    if (sent.length > 0) desk.desk.unread(refused);
  }
  t.equal(asked, 4);
});

t.test(
  'answers that do not say that they are some do not begin the questions for a cancel anew',
  async (t) => {
    const desk = working();
    desk.desk.cancel(request);
    desk.taken();
    let asked = 0;
    for (let second = 0; second < 600; second++) {
      desk.pass(1);
      const { sent } = desk.taken();
      asked += sent.length;
      if (sent.length > 0) desk.receive(isNew);
    }
    t.equal(asked, 4);
  },
);

t.test(
  'numbers that were passed over: every open order is asked for once, in pieces',
  async (t) => {
    const desk = new MemoryDesk();
    const names = Array.from({ length: 50 }, (_, index) => `01KGA2M5000000000000000001_${index}`);
    for (const each of names) {
      desk.submit(`exe_${each}`);
      desk.receive(isNew.replace(name, each));
    }
    desk.receive(`35=8|37=V1|17=E1|150=4|39=4|11=${names[0]}|14=0|151=0|6=0`);
    desk.taken();
    for (const passes of ['35=4|123=Y|36=9', '35=4|36=20', '35=A|141=Y']) {
      const asked: number[] = [];
      for (let second = 0; second < 5; second++) {
        // A gap of many messages is often filled one by one.
        if (second < (passes.startsWith('35=A') ? 1 : 3)) desk.desk.unread(message(passes));
        desk.pass(1);
        asked.push(desk.taken().sent.length);
      }
      t.strictSame(asked, [20, 20, 9, 0, 0], passes);
      for (const each of names)
        desk.receive(`35=8|37=V1|17=0|150=I|39=0|11=${each}|14=0|151=100|6=0`);
      desk.taken();
    }
  },
);

t.test(
  'a question that was lost with a reset within the session counts as not asked',
  async (t) => {
    const desk = new MemoryDesk();
    desk.submit(id);
    desk.pass(10);
    t.strictSame(desk.taken().sent.slice(1), [ask]);
    desk.reset();
    desk.pass(90);
    t.strictSame(desk.taken(), { sent: [ask, ask, ask], told: [] });
  },
);

t.test('what was not read while there is no session is left to the logon', async (t) => {
  const desk = working();
  desk.isLoggedOn = false;
  desk.desk.unread(message('35=4|123=Y|36=9'));
  desk.isLoggedOn = true;
  desk.pass(60);
  t.strictSame(desk.taken().sent, []);
});

t.test('a cancel that the venue has not taken: the order is asked for', async (t) => {
  const desk = working();
  desk.desk.cancel(request);
  desk.taken();
  desk.desk.missed(3, 3);
  desk.pass(1);
  t.strictSame(desk.taken().sent, [askKnown]);
});

t.test(
  'after a restart: what was noted is asked for, what was not noted has not left',
  async (t) => {
    const before = new MemoryDesk();
    before.submit(id);
    const frame = before.plugin.execution(id)?.submit as never;
    t.equal(new MemoryDesk({}, memoryFile(), before.plugin).desk.inDoubt(frame), 'execute');

    const after = before.restarted();
    t.equal(after.desk.inDoubt(frame), undefined);
    after.desk.loggedOn();
    after.pass(1);
    t.strictSame(after.taken(), { sent: [ask], told: [] });
  },
);

t.test('without the journal of the session a command in doubt is unknown, not sent again', (t) => {
  const before = new MemoryDesk();
  before.submit(id);
  const frame = before.plugin.execution(id)?.submit as never;
  before.clock.advance(1_000);
  const next = new MemoryDesk({}, memoryFile(), before.plugin, before.clock);
  // The next process ended before it reported that.
  const last = next.restarted();
  for (const { desk } of [next, last]) {
    t.match(desk.inDoubt(frame), { status: 'unknown', native: { text: new RegExp(name) } });
  }
  t.end();
});

t.test(
  'without the journal of the plugin a command that comes again is asked for, not sent',
  (t) => {
    const first = memoryFile();
    const before = new MemoryDesk({}, first);
    before.submit(id);
    before.clock.advance(1_000);
    const file = memoryFile(first.content());
    const next = new MemoryDesk({}, file, undefined, before.clock);
    next.submit(id);
    next.desk.tick();
    t.match(next.sent, [/^H .*11=/]);
    t.equal(next.sent.length, 1);
    next.clock.advance(86_400_000);
    const later = new MemoryDesk({}, memoryFile(file.content()), undefined, before.clock);
    t.equal(later.journal.orderOf(id), undefined, 'kept for a day');
    t.end();
  },
);

t.test('a report under a name that is not ours is on the order with the number', async (t) => {
  const desk = working();
  const changed = `35=8|37=V1|17=E1|150=5|39=5|11=B2|41=${name}|55=EUR/USD|54=1|14=0|151=100|6=0`;
  const filled = changed
    .replace('17=E1|150=5|39=5', '17=E2|150=F|39=1|31=1.1|32=40')
    .replace(`41=${name}|`, '')
    .replace('14=0|151=100', '14=40|151=60');
  const others = [
    filled.replace('37=V1', '37=V2'),
    filled.replace('37=V1', '37=NONE'),
    filled.replace('54=1', '54=2'),
    filled.replace('EUR/USD', 'GBP/USD'),
  ];
  desk.receive(changed);
  for (const other of others) desk.receive(other);
  desk.receive(filled);
  desk.receive(filled.replace('17=E2|150=F|39=1|31=1.1|32=40', '17=E3|150=4|39=4'));
  desk.receive(filled.replace('E2', 'E4'));
  t.strictSame(named(desk.taken().told), [
    'working, 0 filled',
    ...others.map(() => 'event'),
    'partially_filled, 40 filled, E2: 40 at 1.1',
    'cancelled, cancelled_by_broker, 40 filled',
    'event',
  ]);
});

t.test(
  'a report under a name that is not ours is matched by its SecurityID, beside a Symbol that says nothing',
  async (t) => {
    const desk = new MemoryDesk({ venue: { ...venues.standard, instrument: 'securityId' } });
    desk.submit(id);
    desk.receive(isNew);
    desk.taken();
    desk.receive('35=8|37=V1|17=E1|150=4|39=4|11=B2|55=[N/A]|48=EUR/USD|54=1|14=0|151=0|6=0');
    t.strictSame(desk.taken().told, ['cancelled, cancelled_by_broker, 0 filled']);
  },
);

t.test('a report on an order that is not ours is said, and changes nothing', async (t) => {
  const desk = working();
  desk.receive('35=8|37=X|17=E1|150=F|39=2|11=other|14=1|151=0|6=1|31=1|32=1');
  t.match(desk.taken().told, [/^event .*this terminal does not know/]);
});

t.test(
  'after a restart a cancel that was noted is not sent again: the order is asked for',
  async (t) => {
    const before = working();
    before.desk.cancel(request);

    const after = before.restarted();
    after.desk.cancel(request);
    after.pass(1);
    t.strictSame(after.taken(), { sent: [askKnown], told: [] });
    after.receive(`35=8|37=V1|17=E2|150=4|39=4|11=${cancelName}|41=${name}|14=0|151=0|6=0`);
    t.strictSame(after.taken().told, [
      'cancelled, cancelled_by_api, 0 filled',
      `${cancelId} cancelled`,
    ]);
  },
);

t.test('a refused question on an order that has left the journal is said', async (t) => {
  const desk = working();
  const order = desk.journal.orderOf(id) as SentOrder;
  desk.journal.noteOrder({ ...order, executionId: 'exe_old', clOrdId: 'old' });
  desk.receive('35=j|372=H|379=old|380=0|58=no');
  t.match(desk.taken().told, [/^event .*refuses a message/]);
});

t.test('a fill at a time that no frame can carry was filled when it came', async (t) => {
  for (const time of ['00010101-00:00:00', '99991231-23:59:59.999', '09991231-23:59:59']) {
    const desk = working();
    desk.receive(
      `35=8|37=V1|17=E1|150=F|39=2|11=${name}|14=100|151=0|6=1.1|31=1.1|32=100|60=${time}`,
    );
    const [fill] = desk.plugin.execution(id)?.fills ?? [];
    t.equal(fill?.filledAt, toIsoTime(desk.clock.now()));
    const frame = { type: 'report', seq: 1, executionId: id, status: 'filled', fill };
    t.equal(decodeFrame(Buffer.from(JSON.stringify(frame))).error, undefined);
  }
});

t.test('a question from before the sequence began anew is none any more', async (t) => {
  const desk = working();
  for (let more = 0; more < 9; more++) desk.submit(`exe_${more}`);
  desk.desk.loggedOn();
  desk.pass(1);
  desk.reset();
  desk.pass(1);
  desk.desk.cancel(request);
  desk.taken();
  desk.receive(rests);
  t.strictSame(desk.taken().told, ['working, 0 filled']);
});

t.test('an order that has expired before it leaves is told as expired', async (t) => {
  const desk = new MemoryDesk();
  desk.submit(id);
  const leaving = message(`35=D|11=${name}`);
  desk.clock.advance(59_999);
  t.equal(desk.desk.mayLeave(leaving), true);
  desk.clock.advance(1);
  t.equal(desk.desk.mayLeave(message(`35=F|41=${name}|11=${cancelName}`)), true);
  t.equal(desk.desk.mayLeave(leaving), false);
  t.strictSame(desk.taken().told, ['expired, ttl_expired']);
});

t.test('an ExecID that is given again, as on another day, is another fill', async (t) => {
  const second = `35=8|37=V1|17=E1|150=F|39=2|11=${name}|14=100|151=0|6=1.1|31=1.1|32=60`;
  const desk = working();
  const trades = [isPartlyFilled, isPartlyFilled, second, isPartlyFilled, second];
  for (const trade of trades) desk.receive(trade);
  t.strictSame(desk.taken().told, [
    'partially_filled, 40 filled, E1: 40 at 1.1',
    'partially_filled, 40 filled',
    'filled, 100 filled, E1/100: 60 at 1.1',
  ]);
});

t.test('a CumQty, LeavesQty or AvgPx that the venue leaves at 0 says nothing', async (t) => {
  const desk = working();
  const empty = '14=0|151=0|6=0';
  desk.receive(`35=8|37=V1|17=E1|150=F|39=1|11=${name}|${empty}|31=1.1|32=40`);
  t.strictSame(desk.taken().told, ['partially_filled, E1: 40 at 1.1']);
  t.match(desk.plugin.execution(id), {
    remainingQuantity: undefined,
    averageFillPrice: undefined,
  });
  desk.receive(`35=8|37=V1|17=0|150=I|39=1|11=${name}|14=40|151=60|6=0`);
  t.equal(desk.plugin.execution(id)?.averageFillPrice, undefined);
  desk.receive(`35=8|37=V1|17=E2|150=F|39=2|11=${name}|${empty}|31=1.1|32=60`);
  t.strictSame(desk.taken().told, ['partially_filled, 40 filled', 'filled, E2: 60 at 1.1']);
});

t.test('without a CumQty the fills say what was filled when the order ends', async (t) => {
  for (const end of ['150=4|39=4', '150=8|39=8|103=0']) {
    const desk = working();
    desk.receive(`35=8|37=V1|17=E1|150=F|39=1|11=${name}|31=1.1|32=40`);
    desk.taken();
    desk.receive(`35=8|37=V1|17=E2|${end}|11=${name}|14=0|151=0|6=0`);
    t.strictSame(desk.taken().told, ['cancelled, cancelled_by_broker']);
  }
});

t.test('a trade that is corrected: the order is asked for what it is now', async (t) => {
  const desk = working();
  desk.receive(isPartlyFilled);
  desk.taken();
  desk.receive(`35=8|37=V1|17=X1|19=E1|150=G|39=2|11=${name}|14=100|151=0|6=1.1|31=1.1|32=100`);
  t.match(desk.taken().told, [/takes back or corrects a trade/]);
  desk.pass(1);
  t.strictSame(desk.taken().sent, [askKnown]);
  desk.receive(`35=8|37=V1|17=0|150=I|39=2|11=${name}|14=100|151=0|6=1.1`);
  t.strictSame(desk.taken().told, ['filled, 100 filled']);
});

t.test('a cancel that comes too late for now, of an order that rests, is refused', async (t) => {
  const desk = working();
  desk.desk.cancel(request);
  desk.receive(`35=9|37=V1|11=${cancelName}|41=${name}|434=1|39=0|102=0|58=auction`);
  t.strictSame(desk.taken().told, [`${cancelId} rejected, unable_to_cancel`]);
});

t.test(
  'the late answer to a cancel that was told as unknown is told, also after restarts',
  async (t) => {
    const last = unknownCancel(t);
    const refusal = `35=9|37=V1|11=${cancelName}|41=${name}|434=1|39=0|102=2`;
    last.receive(refusal);
    last.receive(refusal);
    t.strictSame(last.taken().told, [`${cancelId} rejected, unable_to_cancel`], 'once');
  },
);

t.test(
  'a cancel that was told as unknown, and whose message is refused by its name, is rejected',
  async (t) => {
    const desk = working();
    desk.desk.cancel({ cancelRequestId: cancelId, executionId: id });
    desk.desk.loggedOn();
    desk.pass(1);
    desk.receive(`35=8|37=V1|17=0|150=I|39=0|11=${name}|14=0|151=100|6=0`);
    t.equal(desk.taken().told.at(-1), `${cancelId} unknown`);
    const refusal = `35=j|372=F|379=${cancelName}|380=4|58=no`;
    desk.receive(refusal);
    t.strictSame(desk.taken().told, [`${cancelId} rejected, unable_to_cancel`]);
    desk.receive(refusal);
    t.match(desk.taken().told, [/^event .*refuses a message/], 'once');
  },
);

t.test(
  'the end of an order has answered its cancel: a refusal after it says nothing',
  async (t) => {
    const desk = working();
    desk.desk.cancel(request);
    desk.desk.loggedOn();
    desk.pass(1);
    desk.receive(rests);
    desk.receive(`35=8|37=V1|17=E1|150=4|39=4|11=${cancelName}|41=${name}|14=0|151=0|6=0`);
    desk.taken();
    desk.receive(`35=9|37=V1|11=${cancelName}|41=${name}|434=1|102=0`);
    t.strictSame(desk.taken().told, []);
    desk.receive(`35=j|372=F|379=${cancelName}|380=4`);
    t.match(desk.taken().told, [/^event .*refuses a message/]);
  },
);

t.test('a trade from before the end of an order is its own, also under another name', async (t) => {
  const desk = working();
  const sayTime = (seconds: number): string => toFixTime(desk.clock.now() + seconds * 1_000);
  desk.receive(`35=8|37=V1|17=E1|150=4|39=4|11=${name}|14=0|151=0|6=0`);
  desk.taken();
  const trade = '35=8|37=V1|150=F|39=1|11=B2|55=EUR/USD|54=1|14=40|151=0|6=1.1|31=1.1|32=40';
  desk.receive(`${trade}|17=E2|60=${sayTime(-1)}`);
  desk.receive(`${trade}|17=E3|60=${sayTime(1)}`);
  desk.receive(`${trade}|17=E4`);
  t.strictSame(named(desk.taken().told), ['cancelled, 40 filled, E2: 40 at 1.1', 'event', 'event']);
});

t.test('a number that comes again is that of the latest order', async (t) => {
  const desk = working();
  desk.desk.loggedOn();
  desk.receive(`35=8|37=NONE|17=0|150=8|39=8|103=5|11=${name}|14=0|151=0|6=0`);
  const latest = '01KGA2M5000000000000000002_0';
  desk.submit(`exe_${latest}`);
  desk.receive(isNew.replace(name, latest));
  desk.taken();
  desk.receive('35=8|37=V1|17=E1|150=F|39=1|11=B2|55=EUR/USD|54=1|14=40|151=60|6=1.1|31=1.1|32=40');
  t.equal(desk.plugin.execution(`exe_${latest}`)?.filledQuantity, 40);
});

t.test('OrderID NONE is no number: nothing names an order by it', async (t) => {
  const desk = new MemoryDesk();
  desk.submit(id);
  desk.receive(`35=8|37=NONE|17=E0|150=A|39=A|11=${name}|14=0|151=100|6=0`);
  desk.taken();
  desk.receive('35=8|37=NONE|17=E1|150=F|39=1|11=B2|55=EUR/USD|54=1|14=40|151=60|31=1.1|32=40');
  t.strictSame(named(desk.taken().told), ['event']);
  desk.pass(10);
  t.strictSame(desk.taken().sent, [ask]);
});

t.test(
  'a cancel leaves once, also where its answer comes before it is taken up again',
  async (t) => {
    const desk = working();
    desk.desk.cancel(request);
    desk.receive(`35=9|37=V1|11=${cancelName}|41=${name}|434=1|39=0|102=2`);
    desk.desk.cancel(request);
    t.strictSame(desk.taken().sent, [cancel]);
  },
);

t.test('a report that is old, or may be, answers no doubt', async (t) => {
  for (const [known, old] of [
    [isPartlyFilled, isNew],
    [isNew, `${isNew}|97=Y`],
  ] as const) {
    const desk = working();
    desk.receive(known);
    desk.desk.loggedOn();
    desk.receive(old);
    desk.taken();
    desk.pass(1);
    t.strictSame(desk.taken().sent, [askKnown]);
    desk.receive(rests);
    desk.pass(120);
    t.strictSame(desk.taken().sent, [], 'the answer to the question ends it, whatever it says');
  }
});

t.test('a refused cancel of an order that the venue has is word of the order, too', async (t) => {
  for (const [refusal, told] of [
    ['37=V1|39=2|102=0', 'unknown'],
    ['37=NONE|39=8|102=1', 'rejected, broker_rejected, 0 filled'],
  ] as const) {
    const desk = new MemoryDesk();
    desk.submit(id);
    desk.desk.cancel(request);
    desk.receive(`35=9|11=${cancelName}|41=${name}|434=1|${refusal}`);
    desk.taken();
    desk.desk.loggedOn();
    desk.pass(1);
    desk.receive(forgets);
    t.strictSame(desk.taken().told, [told], 'it has forgotten what it had');
  }
});

t.test('an order that was lost with the journal of the session is unknown', async (t) => {
  const before = working();
  const lost = new MemoryDesk({}, memoryFile(), before.plugin, before.clock);
  lost.desk.restore([lost.plugin.execution(id) as KnownExecution]);
  t.match(lost.taken(), { sent: [], told: ['unknown'] });
  lost.desk.restore([lost.plugin.execution(id) as KnownExecution]);
  t.strictSame(lost.taken().told, [], 'once');
  before.desk.restore([before.plugin.execution(id) as KnownExecution]);
  t.strictSame(before.taken().told, []);
});

t.test(
  'a cancel of an order that was lost with the journal of the session is unknown',
  async (t) => {
    const before = working();
    before.desk.cancel(request);
    const lost = new MemoryDesk({}, memoryFile(), before.plugin, before.clock);
    lost.desk.restore([lost.plugin.execution(id) as KnownExecution]);
    lost.taken();
    lost.desk.cancel(request);
    t.strictSame(lost.taken(), { sent: [], told: [`${cancelId} unknown`] });
  },
);

t.test(
  'what is missed is asked for, and nothing that left before, after, or in an earlier life',
  async (t) => {
    const desk = new MemoryDesk();
    // Numbers 2 to 4.
    for (const each of [1, 2, 3]) desk.submit(`exe_01KGA2M5000000000000000001_${each}`);
    desk.taken();
    desk.desk.missed(3, 3);
    desk.pass(1);
    t.match(desk.taken().sent, [/^H .*11=01KGA2M5000000000000000001_2 /]);
    desk.journal.noteReset();
    desk.desk.missed(2, 4);
    desk.pass(1);
    t.strictSame(desk.taken().sent, []);
  },
);

t.test('a doubt waits for the session', async (t) => {
  const desk = new MemoryDesk();
  desk.submit(id);
  desk.isLoggedOn = false;
  desk.taken();
  desk.pass(20);
  t.strictSame(desk.taken().sent, []);
  desk.isLoggedOn = true;
  desk.pass(1);
  t.strictSame(desk.taken().sent, [ask]);
});

t.test('a doubt that is asked for slowly does not hide the next one', async (t) => {
  const desk = new MemoryDesk();
  desk.submit(id);
  desk.pass(130);
  t.strictSame(desk.taken().sent, [order, ask, ask, ask, ask]);
  desk.desk.unread(message(`35=8|11=${name}|14=1|14=2`));
  desk.pass(1);
  t.strictSame(desk.taken().sent, [ask]);
});

t.test(
  'a question on an order leaves also when the order itself must not leave any more',
  async (t) => {
    const desk = new MemoryDesk();
    desk.submit(id);
    desk.clock.advance(60_000);
    t.equal(desk.desk.mayLeave(message(`35=H|11=${name}`)), true);
    t.strictSame(desk.taken().told, []);
  },
);

t.test('a ResendRequest and a Reject look at each open cancel once', async (t) => {
  const desk = new MemoryDesk();
  const count = 20;
  let looks = 0;
  for (let at = 0; at < count; at++) {
    const executionId = `exe_${at}`;
    desk.submit(executionId);
    desk.journal.noteCancel({
      cancelRequestId: `can_${at}`,
      clOrdId: `c${at}`,
      seq: 100 + at,
      life: 1,
      get executionId() {
        looks++;
        return executionId;
      },
    });
  }
  desk.taken();
  looks = 0;
  desk.desk.missed(107, 107);
  desk.receive('35=3|45=108|372=F|373=5');
  t.ok(looks <= 2 * count, `${looks}`);
  desk.pass(1);
  t.strictSame(desk.taken(), {
    sent: ['H 11=7 1=A1 55=EUR/USD 54=1'],
    told: ['can_8 rejected, unable_to_cancel'],
  });
});

t.test('an order that the venue cannot carry is refused, and does not leave', async (t) => {
  const desk = new MemoryDesk();
  desk.submit(id, { ...limitOrder, stopLoss: 1 });
  t.strictSame(desk.taken(), { sent: [], told: ['rejected, invalid_field'] });
  t.match(desk.plugin.execution(id)?.native, { state: 'Rejected', text: /stopLoss/ });
});

t.test('a refused question is asked no more', async (t) => {
  const desk = working();
  desk.desk.loggedOn();
  desk.pass(1);
  desk.receive(`35=j|45=3|372=H|379=${name}|380=3|58=no`);
  desk.taken();
  desk.pass(120);
  t.strictSame(desk.taken().sent, []);
});

t.test('while a cancel is pending the order is asked for after 30 seconds', async (t) => {
  const desk = working();
  desk.desk.cancel(request);
  desk.pass(5);
  desk.receive(`35=8|37=V1|17=E1|150=6|39=6|11=${cancelName}|41=${name}|14=0|151=100|6=0`);
  desk.taken();
  desk.pass(29);
  t.strictSame(desk.taken().sent, []);
  desk.pass(1);
  t.strictSame(desk.taken().sent, [askKnown]);
});

t.test(
  'a cancel at a venue that answers no questions is unknown, and says what to ask for',
  async (t) => {
    const desk = new MemoryDesk({ venue: venues.bybit, timeInForce: 'gtc' });
    const natives: unknown[] = [];
    const { note } = desk;
    desk.note = (frame) => {
      natives.push(frame.native);
      note(frame);
    };
    desk.submit(id);
    desk.receive(isNew);
    desk.desk.cancel(request);
    desk.pass(10);
    t.equal(desk.taken().told.at(-1), `${cancelId} unknown`);
    t.match(natives.at(-1), { text: new RegExp(`Ask the venue for ClOrdID ${name}`) });
  },
);

t.test('a report without a number, under a name that is not ours, is on no order', async (t) => {
  const desk = new MemoryDesk();
  desk.submit(id);
  desk.receive('35=8|17=E1|150=F|39=1|11=B2|55=EUR/USD|54=1|14=40|151=60|6=1.1|31=1.1|32=40');
  t.strictSame(named(desk.taken().told), ['event']);
});

t.test('a rejection that comes again warns of nothing', async (t) => {
  const desk = new MemoryDesk();
  desk.submit(id);
  for (let time = 0; time < 2; time++) desk.receive(forgets);
  t.strictSame(desk.taken().told, ['rejected, broker_rejected, 0 filled']);
});

t.test('a warning names order, trade and number', async (t) => {
  const desk = new MemoryDesk();
  desk.submit(id);
  desk.taken();
  desk.receive(`35=8|37=V1|17=E2|150=H|39=0|11=${name}|14=0|151=100`);
  desk.receive('35=3|45=9|58=no');
  t.strictSame(desk.taken().told, [
    `event ${id} The venue takes back or corrects a trade: check the position and the order. ` +
      `11=${name} 17=E2 37=V1`,
    'event - The venue refuses a message: no 45=9',
  ]);
});

t.test('a report on an order that has left the journal of the plugin is said', async (t) => {
  const before = working();
  const after = new MemoryDesk({}, memoryFile(before.content()), undefined, before.clock);
  after.receive(isPartlyFilled);
  t.match(after.taken().told, [/^event .*the journal no longer holds.* 17=E1/]);
});

t.test(
  'without the journal of the plugin: forgotten is what the venue had taken, and not what it had rejected',
  async (t) => {
    for (const [report, told] of [
      [isNew, 'unknown'],
      [forgets, 'rejected, broker_rejected, 0 filled'],
    ] as const) {
      const before = new MemoryDesk();
      before.submit(id);
      before.receive(report);
      const after = new MemoryDesk({}, memoryFile(before.content()), undefined, before.clock);
      after.submit(id);
      after.receive(forgets);
      t.strictSame(after.taken(), { sent: [], told: [told] });
    }
  },
);

t.test('a long ExecID is cut to what a frame carries', async (t) => {
  const desk = working();
  desk.receive(isPartlyFilled.replace('17=E1', `17=${'E'.repeat(200)}`));
  const [fill] = desk.plugin.execution(id)?.fills ?? [];
  t.equal(fill?.fillId, 'E'.repeat(128));
});

t.test(
  'the end under the name of a cancel is by it, also where it was refused before',
  async (t) => {
    const desk = working();
    desk.desk.cancel(request);
    desk.receive(`35=9|37=V1|11=${cancelName}|41=${name}|434=1|39=0|102=2`);
    desk.receive(`35=8|37=V1|17=E1|150=4|39=4|11=${cancelName}|41=${name}|14=0|151=0|6=0`);
    t.equal(desk.taken().told.at(-1), 'cancelled, cancelled_by_api, 0 filled');
  },
);

t.test(
  'an answer tells of a cancel from before a reset; a report that is no answer does not',
  async (t) => {
    const desk = working();
    desk.desk.cancel(request);
    desk.reset();
    desk.receive(isNew);
    t.strictSame(desk.taken().told, ['working, 0 filled']);
    desk.pass(1);
    desk.receive(rests);
    t.strictSame(desk.taken().told, ['working, 0 filled', `${cancelId} unknown`]);
  },
);

t.test('an answer that a cancel is pending does not make it unknown', async (t) => {
  const desk = working();
  desk.desk.cancel(request);
  desk.pass(10);
  desk.taken();
  desk.receive(rests.replace('39=0', '39=6'));
  t.strictSame(desk.taken().told, ['working, 0 filled', `${cancelId} pending`]);
});

t.test('an answer ends the question on its own order, and on no other', async (t) => {
  const desk = new MemoryDesk();
  const other = '01KGA2M5000000000000000002_0';
  desk.submit(`exe_${other}`);
  desk.pass(10);
  desk.submit(id);
  desk.receive(isNew);
  desk.desk.cancel(request);
  desk.pass(10);
  t.match(desk.taken().sent.at(-1), askKnown);
  desk.receive(rests);
  t.equal(desk.taken().told.at(-1), `${cancelId} unknown`, 'it was asked for after the cancel');
});

t.test('a refusal by the type and the name of an order ends it also after a report', async (t) => {
  const desk = new MemoryDesk();
  desk.submit(id);
  desk.receive(`35=8|37=V1|17=E0|150=A|39=A|11=${name}|14=0|151=100|6=0`);
  desk.receive(`35=j|372=D|379=${name}|380=4|58=no`);
  t.equal(desk.taken().told.at(-1), 'rejected, broker_rejected');
  t.match(desk.plugin.execution(id)?.native, { state: 'Rejected', code: '4', text: 'no' });
  desk.receive(`35=j|372=D|379=${name}|380=4|58=no`);
  t.match(desk.taken().told, [/^event .*refuses a message/], 'it has ended');
});

t.test('the code of a Reject is told, too', async (t) => {
  const desk = new MemoryDesk();
  desk.submit(id);
  desk.receive('35=3|45=2|58=no|373=5');
  t.match(desk.plugin.execution(id)?.native, { code: '5' });
});

t.test('the name of an order in another field of a report does not name it', async (t) => {
  const desk = working();
  desk.receive(`35=8|37=V2|17=E1|150=F|39=1|11=other|58=${name}|14=40|151=60|31=1|32=40`);
  t.match(desk.taken().told, [/^event .*this terminal does not know/]);
});

t.test('by its number an order that has ended is meant by a trade alone', async (t) => {
  const desk = working();
  const before = toFixTime(desk.clock.now() - 1_000);
  desk.receive(`35=8|37=V1|17=E1|150=4|39=4|11=${name}|14=0|151=0|6=0`);
  desk.taken();
  desk.receive(`35=8|37=V1|17=E2|150=D|39=0|11=B2|55=EUR/USD|54=1|14=0|151=100|60=${before}`);
  t.match(desk.taken().told, [/^event .*this terminal does not know/]);
});

t.test('an answer to the last question that is refused late is not asked for again', async (t) => {
  const desk = working();
  desk.desk.loggedOn();
  desk.pass(61);
  t.strictSame(desk.taken().sent, [askKnown, askKnown, askKnown]);
  desk.pass(20);
  desk.desk.unread(message(`35=8|150=I|11=${name}|14=1|14=2`));
  desk.pass(9);
  t.strictSame(desk.taken().sent, []);
});

t.test(
  'a question that was answered, or that the venue has not taken, is none any more',
  async (t) => {
    const answered = working();
    answered.desk.loggedOn();
    answered.pass(1);
    answered.receive(rests);
    answered.desk.cancel(request);
    answered.pass(10);
    answered.receive(rests);
    t.equal(answered.taken().told.at(-1), `${cancelId} unknown`);

    const missed = working();
    missed.desk.loggedOn();
    missed.pass(1);
    missed.desk.cancel(request);
    // The question alone: the cancel is number 4.
    missed.desk.missed(3, 3);
    missed.pass(1);
    missed.receive(rests);
    t.equal(missed.taken().told.at(-1), `${cancelId} unknown`);
  },
);
