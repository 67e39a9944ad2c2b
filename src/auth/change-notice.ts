/**
 * How the operator's shell reaches a running gateway: beside what it changes it leaves a notice, in
 * the same transaction, and the gateway looks again at all that this user has open.
 */
import type { Reader, Writer } from '../store/store.js';

const counter = 'lastChange';

/** Stands for all users in a notice about a switch of the whole gateway. */
export const everyUser = '*';

/** Numbers keep growing after the gateway has removed the notices that it obeyed. */
export function leaveChangeNotice(transaction: Reader & Writer, userId: string): void {
  const number = Number(transaction.get('meta', counter) ?? 0) + 1;
  transaction.put('meta', counter, number);
  transaction.put('changes', number, { userId });
}
