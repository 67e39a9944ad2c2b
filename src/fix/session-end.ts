/** Why a session has ended, in words for the operator. */

/** `sequence`: an operator has to act. `refused`: no logon. The others: try again. */
export interface SessionEnd {
  readonly reason: 'logged_out' | 'refused' | 'sequence' | 'protocol' | 'silent';
  readonly text: string;
}

/** The text of an end by a MsgSeqNum of the counterparty that is below the next one. */
export function lowIn(seq: number, expected: number): string {
  return (
    `MsgSeqNum too low, expecting ${expected} but received ${seq}. The counterparty has begun its sequence anew. ` +
    'Check at the venue which orders it holds, then agree on a reset with it: start once with resetOnLogon true.'
  );
}

/** The text of an end by a counterparty that has received higher numbers than `next`. */
export function lowOut(next: number): string {
  return (
    `This side is at MsgSeqNum ${next}: its state directory is not the one of the last session. Put the right one ` +
    'back, or check at the venue which orders it holds and start once with resetOnLogon true.'
  );
}

/**
 * Whether a refusal says that our number is too low: FIX has no code for it. `subsequent`, `allowed` and the like hold
 * the same letters and do not count.
 */
export function saysLow(text: string): boolean {
  return /seq(?!uent).*((?<!al|fol)low|(?<!un)less|expect)/i.test(text);
}
