/** Why a session has ended, in words for the operator. */

/** `sequence`: an operator has to act. `refused`: no logon. The others: try again. */
export interface SessionEnd {
  readonly reason: 'logged_out' | 'refused' | 'sequence' | 'protocol' | 'silent';
  readonly text: string;
}

/** The counterparty's number is below the next: it was received before, or the sequence has begun anew. */
export function lowIn(seq: number, expected: number): string {
  return (
    `MsgSeqNum too low, expecting ${expected} but received ${seq}. The counterparty has begun its sequence anew. ` +
    'Check at the venue which orders it holds, then agree on a reset with it: start once with resetOnLogon true.'
  );
}

/** The counterparty has received higher numbers than `next`. */
export function lowOut(next: number): string {
  return (
    `This side is at MsgSeqNum ${next}: its state directory is not the one of the last session. Put the right one ` +
    'back, or check at the venue which orders it holds and start once with resetOnLogon true.'
  );
}

/** Whether a refusal is about our numbers; there is no code for it, only words. */
export function saysLow(text: string): boolean {
  return /seq.*(low|less|expect)/i.test(text);
}
