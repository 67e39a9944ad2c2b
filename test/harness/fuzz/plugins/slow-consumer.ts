/**
 * A plugin that stops reading. Where refusals pile up for it until the gateway's buffer is full, it is
 * closed as too slow; where orders do, what it did not acknowledge comes again, in order, to whoever
 * comes back under its name. The bystander trades on beside it.
 */
import { connectPlugin, openPlugin } from '../../../support/plugin.js';
import type { Chance } from '../../chance.js';
import type { Arena } from '../test-bed.js';
import { inTime } from '../deadline.js';

/** More than the buffers of two sockets and of the gateway hold together. */
const bytesWanted = 24 * 1024 * 1024;
const ordersMax = 40;
const tooSlow = 4003;

/** @returns how many frames made it stand still. */
export async function playStandstill(arena: Arena, chance: Chance): Promise<number> {
  const mark = arena.isolation.markOf(arena.attacker.email);
  const source = { instanceId: `${mark}-still-${chance.between(1, 1e9)}`, accountName: mark };
  return chance.happens(0.5) ? flood(arena, source) : starve(arena, source);
}

/** It says more than anybody could answer, and reads none of the answers. */
async function flood(arena: Arena, source: object): Promise<number> {
  const plugin = await openPlugin(arena.url, arena.attacker.sessionToken, source);
  plugin.socket.pause();
  // An id as long as allowed costs the sender most; the answer is about as long.
  const wrong = JSON.stringify({ type: 'ack', executionId: 'e'.repeat(64) });
  const count = Math.ceil(bytesWanted / wrong.length);
  for (let left = count; left > 0; left--) {
    plugin.socket.send(wrong);
    // The sender's own buffer is bounded too.
    if (left % 2000 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await arena.checkBystander();
  plugin.socket.resume();
  const { code } = await inTime(
    plugin.waitClosed(),
    () => 'a plugin that does not read is not closed',
  );
  arena.trial.verdict.hold('a plugin that does not read is too slow', code === tooSlow, () => code);
  return count;
}

/** It takes no orders from its socket; they come again to the connection after it. */
async function starve(arena: Arena, source: { readonly instanceId: string }): Promise<number> {
  const { attacker } = arena;
  const { verdict } = arena.trial;
  const plugin = await openPlugin(arena.url, attacker.sessionToken, source);
  plugin.socket.pause();
  const orders: string[] = [];
  for (let left = ordersMax; left > 0; left--) {
    const fields = { instanceId: source.instanceId };
    orders.push(await arena.submit(attacker, fields, { note: 'x'.repeat(60_000) }));
  }
  await arena.checkBystander();
  plugin.cut();
  const again = await connectPlugin(arena.url, attacker.sessionToken);
  again.send({
    type: 'hello',
    platform: 'terminal_a',
    accountName: arena.isolation.markOf(attacker.email),
    ...source,
    capabilities: ['submit'],
  });
  const came: string[] = [];
  for (const requestId of orders) {
    const frame = await inTime(again.next('submit'), () => `${requestId} does not come again`);
    came.push(frame['requestId'] as string);
  }
  verdict.hold(
    'what was not acknowledged comes again, in order',
    came.join() === orders.join(),
    () => ({ came, orders }),
  );
  for (const requestId of orders)
    again.send({
      type: 'report',
      seq: orders.indexOf(requestId) + 1,
      executionId: `exe_${requestId.slice(4)}_0`,
      status: 'rejected',
    });
  for (;;) if ((await inTime(again.next('ack'), () => 'no ack'))['seq'] >= orders.length) break;
  again.cut();
  return orders.length;
}
