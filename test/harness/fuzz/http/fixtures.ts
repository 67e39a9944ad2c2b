/** The credentials, orders and keys that exist in the gateway and that the inputs refer to. */
import { call, bearer, createKey, signal, submit } from '../../../support/api.js';
import type { Plugin } from '../../../support/plugin.js';
import type { Member } from '../fuzzed-gateway.js';

export interface Fixtures {
  /** The user whose credentials the inputs carry. */
  readonly attacker: Member;
  /** A key of the attacker with the scope `events:read` only. */
  readonly narrowKey: string;
  readonly revokedKey: string;
  /** requestId of an accepted signal. */
  readonly requestId: string;
  /** Working orders, which may be cancelled. */
  readonly orders: readonly string[];
  /** An order and a key that only hidden requests name. */
  readonly forbiddenOrder: string;
  readonly forbiddenKeyId: number;
}

const ordersThereAre = 20;

/** `terminal`: the attacker's, which reports the orders as working. */
export async function createFixtures(
  url: string,
  attacker: Member,
  terminal: Plugin,
): Promise<Fixtures> {
  const { key: narrowKey } = await createKey(url, attacker.token, { scopes: ['events:read'] });
  const { id: forbiddenKeyId } = await createKey(url, attacker.token);
  const { key: revokedKey, id } = await createKey(url, attacker.token);
  await call(url, 'DELETE', `/api/api-keys/${id}`, { headers: bearer(attacker.token) });
  const orders: string[] = [];
  let requestId = '';
  for (let seq = 1; seq <= ordersThereAre + 1; seq++) {
    const answer = await submit(url, attacker.key, signal({ ttlMs: 300_000 }));
    requestId = answer.body.requestId;
    const frame = await terminal.next('submit', { requestId });
    terminal.send({ type: 'report', seq, executionId: frame['executionId'], status: 'working' });
    await terminal.next('ack', { seq });
    orders.push(frame['orderRef']);
  }
  const forbiddenOrder = orders.pop() as string;
  return { attacker, narrowKey, revokedKey, requestId, orders, forbiddenOrder, forbiddenKeyId };
}
