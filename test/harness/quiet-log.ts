/** Which lines of a gateway's log belong to a run in which nothing goes wrong. */

/** A busy machine may hold a flush for seconds; the gateway's answers meanwhile are checked on their own. */
const ofTheMachine: ReadonlySet<string> = new Set([
  'a commit hangs: nothing is accepted until it has ended',
  'the commit that hung has ended',
]);

/** @returns false for a warning, an error, and what is no line of the gateway's. */
export function isQuiet(line: string): boolean {
  try {
    const { level, msg } = JSON.parse(line) as { readonly level: string; readonly msg: string };
    return level === 'debug' || level === 'info' || ofTheMachine.has(msg);
  } catch {
    return false;
  }
}
