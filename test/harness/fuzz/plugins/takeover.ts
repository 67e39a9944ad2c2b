/**
 * A fight for one source: plugins take it from each other while orders come in. At the end exactly one
 * stands, the others were told 4501, and each order was executed once and is filled once.
 */
import { eventually } from '../../../support/eventually.js';
import type { Chance } from '../../chance.js';
import type { Arena } from '../test-bed.js';
import { Fighters } from './competing-plugins.js';

/** @returns how many orders were fought over. */
export async function playFight(arena: Arena, chance: Chance): Promise<number> {
  const { verdict } = arena.trial;
  const { attacker } = arena;
  const mark = arena.isolation.markOf(attacker.email);
  const source = { platform: 'terminal_a', instanceId: `${mark}-ring`, accountName: mark };
  const fighters = new Fighters(arena.url, attacker.sessionToken, source);
  await fighters.join();
  const orders: string[] = [];
  for (let left = chance.between(2, 6); left > 0; left--) {
    const works = [
      ...Array.from({ length: chance.between(1, 4) }, () => fighters.join()),
      ...Array.from({ length: chance.between(0, 5) }, async () => {
        orders.push(await arena.submit(attacker, { instanceId: source.instanceId }));
      }),
    ];
    await Promise.all(works);
  }
  await eventually(() => fighters.standing.length === 1, 30_000);
  const others = fighters.closes.filter((code) => code !== 4501);
  verdict.hold('who loses the source is told so', others.length === 0, () => fighters.closes);
  await eventually(
    () =>
      fighters.isAllAcknowledged &&
      orders.every((requestId) => fighters.handed.has(`exe_${requestId.slice(4)}_0`)),
    30_000,
  );
  for (const requestId of orders) {
    const { executions } = await arena.read(attacker, requestId);
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
  verdict.hold('one of them stands', fighters.standing.length === 1, () => fighters.closes);
  fighters.end();
  return orders.length;
}
