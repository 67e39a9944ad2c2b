/**
 * How the operator's shell reaches a running gateway: beside what it changes it leaves a notice, in
 * the same transaction, and the gateway looks again at all that this user has open.
 */
import type { Reader, Writer } from '../store/store.js';

const counter = 'lastChange';

/** Stands for all users in a notice about a switch of the whole gateway. */
export const everyUser = '*';

/** Numbers keep growing after the gateway has removed the notices that it obeyed. */
export function leaveChangeNotice(
  transaction: Reader & Writer,
  userId: string,
  occasion: 'changed' | 'arrives' = 'changed',
): void {
  const number = Number(transaction.get('meta', counter) ?? 0) + 1;
  transaction.put('meta', counter, number);
  const notice = occasion === 'arrives' ? { userId, arrives: true as const } : { userId };
  transaction.put('changes', number, notice);
}
