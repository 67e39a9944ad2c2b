/** Ends a child with this process, however this process ends, so that nothing that a test starts outlives it. */
import type { ChildProcess } from 'node:child_process';

const running = new Set<ChildProcess>();
// One listener for all: Node warns of a leak when there are more than ten.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export function endWithTest<Child extends ChildProcess>(child: Child): Child {
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}
