/** Formats and parses the cursor of a stream, `<epoch>-<seq>`: the id of an event, sent as Last-Event-ID. */
export function formatCursor(epoch: string, seq: number): string {
  return `${epoch}-${seq}`;
}

const pattern = /^([0-9a-f]{1,32})-(0|[1-9][0-9]{0,15})$/;

/** @returns the seq; undefined for an invalid cursor or one of another epoch. */
export function readCursor(cursor: string, epoch: string): number | undefined {
  const match = pattern.exec(cursor);
  return match?.[1] === epoch ? Number(match[2]) : undefined;
}
