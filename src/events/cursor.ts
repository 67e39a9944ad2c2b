/** The cursor of a stream, `<epoch>-<seq>`: an event's id, and what a client resumes after. */
export function formatCursor(epoch: string, seq: number): string {
  return `${epoch}-${seq}`;
}

const pattern = /^([0-9a-f]{1,32})-(0|[1-9][0-9]{0,15})$/;

/** @returns the seq, or undefined for a cursor of another epoch or of none. */
export function readCursor(cursor: string, epoch: string): number | undefined {
  const match = pattern.exec(cursor);
  return match?.[1] === epoch ? Number(match[2]) : undefined;
}
