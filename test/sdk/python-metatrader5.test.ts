/** The MetaTrader 5 example at a real gateway, with a fake package MetaTrader5: no terminal, no broker. */
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { eventually } from '../support/eventually.js';
import { startTestGateway } from '../support/gateway.js';
import { environment, noPython, python, root, sdk } from './python.js';
import { startTerminal } from './terminal-process.js';

await t.test('the MetaTrader 5 example, with a fake', { skip: noPython }, async (t) => {
  const gateway = await startTestGateway(t, { users: 1 });
  const user = await gateway.user();
  // Beside the gateway's data: a second testdir of the same test would empty the first.
  const directory = dirname(gateway.dataDir);
  const start = () =>
    startTerminal(
      t,
      [
        String(python),
        `${sdk}/examples/metatrader5_terminal.py`,
        ...['terminal_b', 'desk-1', '1234567@Broker-Demo', join(directory, 'journal')],
      ],
      {
        ...environment,
        PYTHONPATH: `${sdk}:${root}test/sdk/python/fake_metatrader5`,
        FAKE_METATRADER5: join(directory, 'orders'),
      },
      { url: gateway.url, email: user.email },
    );
  const submit = (payload: object) =>
    gateway.submit(user, {
      platform: 'terminal_b',
      payload: {
        instrument: 'EURUSD',
        side: 'buy',
        executionType: 'market',
        quantity: 1,
        ...payload,
      },
    });
  const limit = { executionType: 'limit', limitPrice: 1.05, stopLoss: 1.01, takeProfit: 1.2 };
  const terminal = start();
  await terminal.notice('connected');

  /** Whether the fill is of the time since then, in UTC: the server's clock is hours ahead. */
  const isSince = (beginMs: number, { fills }: { fills: { filledAt: string }[] }): boolean => {
    const filledMs = Date.parse(fills[0]?.filledAt ?? '');
    return filledMs >= beginMs && filledMs <= Date.now();
  };
  const beginMs = Date.now();
  const filled = await gateway.becomes(user, await submit({}), 'filled');
  t.match(filled, { averageFillPrice: 1.1, fills: [{ fillId: '6000', quantity: 1 }] });
  t.ok(isSince(beginMs, filled), 'filledAt is UTC');
  const lags = join(directory, 'orders.lags');
  writeFileSync(lags, '');
  const slow = await submit({ quantity: 2 });
  await eventually(() => statSync(lags).size > 3);
  t.match(await gateway.execution(user, slow), { status: 'submitted' });
  rmSync(lags);
  const shown = await gateway.becomes(user, slow, 'filled');
  t.match(shown.fills, [{ quantity: 2 }], 'deals that show after the end of their order');
  const poor = await gateway.becomes(user, await submit({ quantity: 101 }), 'rejected');
  t.match(poor, { reasonCode: 'insufficient_funds', native: { code: 10019 } });
  const strange = await gateway.becomes(user, await submit({ instrument: 'XAU' }), 'rejected');
  t.match(strange, { reasonCode: 'unknown_instrument' });
  const unquoted = await gateway.becomes(user, await submit({ instrument: 'GBPUSD' }), 'rejected');
  t.match(unquoted, { reasonCode: 'no_quotes' }, 'an order that was not sent is not in doubt');
  const dated = await gateway.becomes(user, await submit({ timeInForce: 'day' }), 'rejected');
  t.match(dated, { reasonCode: 'invalid_field', native: { text: /timeInForce/ } });

  const resting = await submit(limit);
  const { orderRef } = await gateway.becomes(user, resting, 'working');
  await terminal.kill();
  const second = start();
  await second.notice('connected');
  t.equal((await gateway.cancel(user, orderRef)).status, 202);
  t.match((await gateway.becomes(user, resting, 'cancelled')).cancel, { status: 'cancelled' });

  const overWinter = await submit({ ...limit, quantity: 80 });
  await gateway.becomes(user, overWinter, 'working');
  const springMs = Date.now();
  writeFileSync(join(directory, 'orders.summer'), '');
  const summery = await gateway.becomes(user, overWinter, 'filled');
  t.ok(isSince(springMs, summery), 'filledAt is UTC after a change to daylight saving time');

  const notDone = [
    [70, 'unknown'],
    [71, 'rejected'],
  ] as const;
  for (const [quantity, status] of notDone) {
    const stuck = await submit({ ...limit, quantity });
    const working = await gateway.becomes(user, stuck, 'working');
    t.equal((await gateway.cancel(user, working.orderRef)).status, 202);
    await eventually(async () => {
      return (await gateway.execution(user, stuck)).cancel?.status === status;
    }, 120_000);
  }

  const hides = join(directory, 'orders.hides');
  writeFileSync(hides, '');
  const late = await submit({ quantity: 50 });
  await gateway.becomes(user, late, 'unknown');
  await eventually(() => statSync(hides).size > 2);
  rmSync(hides);
  t.match(await gateway.becomes(user, late, 'filled'), { filledQuantity: 50 }, 'shown later');

  writeFileSync(hides, '');
  const later = await submit({ quantity: 50 });
  await gateway.becomes(user, later, 'unknown');
  await second.kill();
  const third = start();
  await third.notice('connected');
  rmSync(hides);
  t.match(await gateway.becomes(user, later, 'filled'), { filledQuantity: 50 }, 'after a restart');

  writeFileSync(hides, '');
  const cutOff = await submit({ quantity: 60 });
  t.equal(await third.ended(), 9);
  await start().notice('connected');
  await gateway.becomes(user, cutOff, 'unknown');
  rmSync(hides);
  t.match(await gateway.becomes(user, cutOff, 'filled'), { filledQuantity: 60 });
  const orders = JSON.parse(readFileSync(join(directory, 'orders'), 'utf8')) as {
    volume_initial: number;
  }[];
  t.equal(orders.filter((order) => order.volume_initial === 60).length, 1, 'it was sent once');
});
