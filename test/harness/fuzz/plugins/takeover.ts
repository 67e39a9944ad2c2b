/**
 * Plugins take a source from each other while orders arrive. In the end exactly one is connected, the
 * others were closed with 4501, and each order was executed and filled once.
 */
import { eventually } from '../../../support/eventually.js';
import type { Chance } from '../../chance.js';
import type { TestBed } from '../test-bed.js';
import { CompetingPlugins } from './competing-plugins.js';

/** @returns the number of orders. */
export async function runTakeover(bed: TestBed, chance: Chance): Promise<number> {
  const { verdict } = bed.run;
  const { attacker } = bed;
  const mark = bed.isolation.markOf(attacker.email);
  const source = { platform: 'terminal_a', instanceId: `${mark}-ring`, accountName: mark };
  const plugins = new CompetingPlugins(bed.url, attacker.sessionToken, source);
  await plugins.join();
  const orders: string[] = [];
  for (let left = chance.between(2, 6); left > 0; left--) {
    const works = [
      ...Array.from({ length: chance.between(1, 4) }, () => plugins.join()),
      ...Array.from({ length: chance.between(0, 5) }, async () => {
        orders.push(await bed.submit(attacker, { instanceId: source.instanceId }));
      }),
    ];
    await Promise.all(works);
  }
  await eventually(() => plugins.connected.length === 1, 30_000);
  const others = plugins.closes.filter((code) => code !== 4501);
  verdict.hold('who loses the source is told so', others.length === 0, () => plugins.closes);
  await eventually(
    () =>
      plugins.isAllAcknowledged &&
      orders.every((requestId) => plugins.submits.has(`exe_${requestId.slice(4)}_0`)),
    30_000,
  );
  for (const requestId of orders) {
    const { executions } = await bed.read(attacker, requestId);
    const [execution] = executions;
    verdict.hold(
      'an order that was fought over is executed once',
      executions.length === 1 &&
        execution.status === 'filled' &&
        execution.filledQuantity === 3 &&
        execution.fills.length === 1,
      () => executions,
    );
  }
  verdict.hold('one of them stands', plugins.connected.length === 1, () => plugins.closes);
  plugins.end();
  return orders.length;
}
