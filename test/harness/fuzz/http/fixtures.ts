/** Who and what there is in the gateway that the inputs speak of. */
import { call, bearer, createKey, signal, submit } from '../../../support/api.js';
import type { Plugin } from '../../../support/plugin.js';
import type { Member } from '../fuzzed-gateway.js';

export interface Cast {
  /** Whose credentials the inputs carry. */
  readonly attacker: Member;
  /** Of the attacker, with the scope to read events alone. */
  readonly narrowKey: string;
  readonly revokedKey: string;
  /** A signal that was accepted. */
  readonly requestId: string;
  /** Orders that rest at the terminal and may be cancelled. */
  readonly orders: readonly string[];
  /** An order and a key that no input may touch but those that are hidden in others. */
  readonly forbiddenOrder: string;
  readonly forbiddenKeyId: number;
}

const ordersThereAre = 20;

/** `terminal` is the attacker's, and answers by itself: its orders rest. */
export async function createCast(url: string, attacker: Member, terminal: Plugin): Promise<Cast> {
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
