/**
 * The FIX terminal against QuickFIX, which validates each of its messages: orders, cancels, and kills of both
 * sides while orders flow.
 */
import t, { type Test } from 'tap';
import { get } from '../support/api.js';
import { eventually } from '../support/eventually.js';
import { startTestGateway, type TestUser } from '../support/gateway.js';
import { startFix, type FixProcess, type FixProcessOptions } from './fix-process.js';
import { limitOrder } from './memory-desk.js';
import {
  fieldOf,
  missingQuickFix,
  startQuickFix,
  type QuickFix,
  type QuickFixProgram,
} from './quickfix.js';

const gateway = await startTestGateway(t);

/** Kills; FIX_ROUNDS=50 makes more of them. */
const rounds = Number(process.env['FIX_ROUNDS'] ?? 6);
const ordersPerRound = 6;

async function setUp(t: Test, program: QuickFixProgram) {
  const user = await gateway.user();
  const directory = t.testdir();
  const venue = await startQuickFix(t, program, directory);
  const { port, beginString } = venue;
  const setting: FixProcessOptions = {
    directory,
    url: gateway.url,
    email: user.email,
    port,
    session: { beginString, heartBtIntSec: 30 },
  };
  return { user, venue, setting };
}

const order = (changed: object = {}): object => ({
  type: 'order',
  cmd: 'submit',
  payload: { ...limitOrder, ...changed },
});

/** Reads the user's requests in pages: one by one, they would be more than the user's limit allows. */
async function listed(user: TestUser, status: string): Promise<any[]> {
  const found: any[] = [];
  for (let before = ''; ;) {
    const path = `/api/v1/signals?status=${status}&limit=200${before}`;
    const { body } = await get(gateway.url, path, user.key);
    found.push(...body.signals);
    if (body.next === null) return found;
    before = `&before=${body.next}`;
  }
}

/** Holds that QuickFIX has refused nothing that the terminal has sent. */
function nothingRefused(t: Test, venue: QuickFix): void {
  const refusals = venue.outgoing().filter((message) => /\|35=[3j]\|/.test(message));
  t.strictSame(refusals, [], 'no Reject and no BusinessMessageReject');
  t.notMatch(venue.log(), /Disconnecting: |Message \d+ Rejected/);
}

t.test('executor, FIX 4.4', { skip: missingQuickFix('executor') }, async (t) => {
  t.test('an order is filled', async (t) => {
    const { user, venue, setting } = await setUp(t, 'executor');
    const fix = startFix(t, setting);
    await fix.ready();
    const execution = await gateway.becomes(user, await gateway.submit(user, order()), 'filled');
    t.match(execution, { filledQuantity: 100, averageFillPrice: 1.1, fills: [{ quantity: 100 }] });
    t.equal(await fix.stop(), 0);
    nothingRefused(t, venue);
    t.match(venue.incoming().at(-1), /\|35=5\|/);
  });

  t.test('a type that it does not know is refused, with its words', async (t) => {
    const { user, setting } = await setUp(t, 'executor');
    await startFix(t, setting).ready();
    const changed = { executionType: 'market', limitPrice: undefined };
    const execution = await gateway.becomes(
      user,
      await gateway.submit(user, order(changed)),
      'rejected',
    );
    t.match(execution, { reasonCode: 'broker_rejected', native: { text: /Value is incorrect/ } });
  });

  t.test('resetOnLogon', async (t) => {
    const { user, venue, setting } = await setUp(t, 'executor');
    const session = { ...setting.session, resetOnLogon: true };
    for (let round = 0; round < 2; round++) {
      const fix = startFix(t, { ...setting, session });
      await fix.ready();
      await gateway.becomes(user, await gateway.submit(user, order()), 'filled');
      await fix.kill();
    }
    nothingRefused(t, venue);
  });

  t.test(`kills of both sides while orders flow, ${rounds} rounds`, async (t) => {
    const { user, venue, setting } = await setUp(t, 'executor');
    let fix: FixProcess = startFix(t, setting);
    await fix.ready();
    const requests: string[] = [];
    const logons = (): number => fix.output().split('logged on').length;
    for (let round = 0; round < rounds; round++) {
      const before = round % 2 === 0 ? 1 : logons();
      for (let count = 0; count < ordersPerRound; count++) {
        requests.push(await gateway.submit(user, order({ quantity: 1 + requests.length })));
        // Each round kills after another number of orders.
        if (count !== round % ordersPerRound) continue;
        if (round % 2 === 0) {
          await fix.kill();
          fix = startFix(t, setting);
        } else {
          await venue.kill();
          await venue.start();
        }
      }
      await eventually(() => logons() > before, 120_000);
      // An order after the kill is taken.
      const last = await gateway.submit(user, order({ quantity: 1 + requests.length }));
      requests.push(last);
      await gateway.becomes(user, last, 'filled');
    }
    await eventually(async () => (await listed(user, 'open')).length === 0, 180_000);
    const executions = (await listed(user, 'completed')).flatMap((request) => request.executions);
    t.equal(executions.length, requests.length);
    checkBooks(t, venue, executions);
  });
});

/** Holds that the gateway's orders and fills are those of the venue. */
function checkBooks(t: Test, venue: QuickFix, executions: readonly any[]): void {
  const orders = venue.incoming().filter((message) => fieldOf(message, 35) === 'D');
  const names = orders.map((message) => fieldOf(message, 11) as string);
  t.equal(new Set(names).size, names.length, 'no order has left twice');
  const repeated = venue.incoming().filter((message) => fieldOf(message, 43) === 'Y');
  t.ok(
    repeated.every((message) => fieldOf(message, 35) === '4'),
    'only gap fills come again',
  );
  const numbers = venue
    .incoming()
    .filter((message) => fieldOf(message, 43) !== 'Y')
    .map((message) => Number(fieldOf(message, 34)));
  t.ok(
    numbers.every((seq, at) => at === 0 || seq > (numbers[at - 1] as number)),
    'no number falls back',
  );
  const filled = new Set(
    venue
      .outgoing()
      .filter((message) => fieldOf(message, 150) === 'F')
      .map((message) => `exe_${fieldOf(message, 11)}`),
  );
  for (const { executionId, status, fills, quantity } of executions) {
    if (!filled.has(executionId))
      t.strictSame(fills, [], `${executionId} is ${status}, without fills`);
    else {
      t.equal(status, 'filled', executionId);
      t.strictSame(
        fills.map((fill: any) => fill.quantity),
        [quantity],
        'each fill is there once',
      );
    }
  }
  t.comment(
    `${executions.length} orders: ${names.length} came, ${filled.size} filled, ` +
      `${executions.filter(({ status }) => status === 'unknown').length} unknown, ` +
      `${executions.filter(({ status }) => status === 'rejected').length} rejected`,
  );
}

t.test('ordermatch, FIX 4.2', { skip: missingQuickFix('ordermatch') }, async (t) => {
  const { user, venue, setting } = await setUp(t, 'ordermatch');
  const fix = startFix(t, setting);
  await fix.ready();
  const buy = await gateway.submit(user, order());
  await gateway.becomes(user, buy, 'working');
  const sell = await gateway.submit(user, order({ side: 'sell', quantity: 40 }));
  t.match(await gateway.becomes(user, sell, 'filled'), { filledQuantity: 40 });
  const part = await gateway.becomes(user, buy, 'partially_filled');
  t.match(part, {
    filledQuantity: 40,
    remainingQuantity: 60,
    fills: [{ quantity: 40, price: 1.1 }],
  });
  t.equal((await gateway.cancel(user, part.orderRef)).status, 202);
  const execution = await gateway.becomes(user, buy, 'cancelled');
  t.match(execution, { filledQuantity: 40, cancel: { status: 'cancelled' } });
  const refused = await gateway.submit(user, order({ timeInForce: 'ioc' }));
  t.match(await gateway.becomes(user, refused, 'rejected'), {
    native: { text: /Unsupported TIF/ },
  });
  t.equal(await fix.stop(), 0);
  nothingRefused(t, venue);
});
