/**
 * Prints what a command does that runs until it is stopped. While the reader of its output has stopped, lines are
 * dropped: Node would keep all of them in memory. Owns the number of dropped lines, for the life of the process.
 */
import type { Writable } from 'node:stream';

/** Characters that wait for the reader; a line more is dropped, as are all others until those are taken. */
export const waitingMax = 1024 * 1024;
/** How long a command that was asked to stop waits for the reader of its last lines. */
export const lastLinesMs = 500;

export function createActivityOutput(
  output: Pick<Writable, 'write' | 'writableLength'>,
  tell: (text: string) => void,
): (text: string) => void {
  let dropped = 0;
  return (text) => {
    if (output.writableLength > (dropped === 0 ? waitingMax : 0)) {
      if (dropped === 0) tell('Nobody reads the output: lines are dropped until it is read.\n');
      dropped++;
      return;
    }
    if (dropped > 0) tell(`The output is read again: ${dropped} lines were dropped.\n`);
    dropped = 0;
    output.write(text);
  };
}
