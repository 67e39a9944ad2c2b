/**
 * A plugin that stops reading. If errors fill its buffer, it is closed as too slow or too fast; if orders do,
 * its next connection gets the unacknowledged ones again, in order. The bystander is checked meanwhile.
 */
import { nextTurn } from '../../../../src/lib/turn.js';
import { connectPlugin, openPlugin } from '../../../support/plugin.js';
import type { Chance } from '../../chance.js';
import type { TestBed } from '../test-bed.js';
import { withDeadline } from '../deadline.js';

/** More than the buffers of both sockets and of the gateway hold. */
const bytesWanted = 24 * 1024 * 1024;
const ordersMax = 40;
/** Too slow, or too fast: which of them comes first depends on how fast the gateway reads. */
const cutOff: readonly number[] = [4003, 4004];

/** @returns the number of frames that were not read. */
export async function runSlowConsumer(bed: TestBed, chance: Chance): Promise<number> {
  const mark = bed.isolation.markOf(bed.attacker.email);
  const source = { instanceId: `${mark}-still-${chance.between(1, 1e9)}`, accountName: mark };
  return chance.happens(0.5) ? flood(bed, source) : stopReadingOrders(bed, source);
}

/** Sends invalid frames and reads none of the errors. */
async function flood(bed: TestBed, source: object): Promise<number> {
  const plugin = await openPlugin(bed.url, bed.attacker.sessionToken, source);
  plugin.socket.pause();
  // The error is about as long as the frame.
  const wrong = JSON.stringify({ type: 'ack', executionId: 'e'.repeat(64) });
  const count = Math.ceil(bytesWanted / wrong.length);
  for (let left = count; left > 0; left--) {
    plugin.socket.send(wrong);
    // Lets the sender's own buffer drain.
    if (left % 2000 === 0) await nextTurn();
  }
  await bed.checkBystander();
  plugin.socket.resume();
  const { code } = await withDeadline(
    plugin.waitClosed(),
    () => 'a plugin that does not read is not closed',
  );
  bed.run.verdict.hold('a plugin that does not read is cut off', cutOff.includes(code), () => code);
  return count;
}

/** Reads no orders; they are sent again on its next connection. */
async function stopReadingOrders(
  bed: TestBed,
  source: { readonly instanceId: string },
): Promise<number> {
  const { attacker } = bed;
  const { verdict } = bed.run;
  const plugin = await openPlugin(bed.url, attacker.sessionToken, source);
  plugin.socket.pause();
  const orders: string[] = [];
  for (let left = ordersMax; left > 0; left--) {
    const fields = { instanceId: source.instanceId };
    orders.push(await bed.submit(attacker, fields, { note: 'x'.repeat(60_000) }));
  }
  await bed.checkBystander();
  plugin.cut();
  const again = await connectPlugin(bed.url, attacker.sessionToken);
  again.send({
    type: 'hello',
    platform: 'terminal_a',
    accountName: bed.isolation.markOf(attacker.email),
    ...source,
    capabilities: ['submit'],
  });
  const came: string[] = [];
  for (const requestId of orders) {
    const frame = await withDeadline(
      again.next('submit'),
      () => `${requestId} does not come again`,
    );
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
  for (;;)
    if ((await withDeadline(again.next('ack'), () => 'no ack'))['seq'] >= orders.length) break;
  again.cut();
  return orders.length;
}
