/**
 * The terminals of the crash harness in a process of their own: their state outlives the gateway, and
 * the bots do not delay the timestamps of what they receive. Exits with the process that started it.
 */
import { Chance } from '../chance.js';
import type { Command, Observation } from './observation.js';
import { watchEventLoopDelay } from './event-loop-delay.js';
import { Terminal } from './terminal.js';

const idleWithinMs = 15_000;

const loopDelay = watchEventLoopDelay();
let terminals: Terminal[] = [];
const observations: Observation[] = [];

process.on('disconnect', () => process.exit(0));
process.on('message', (command: Command) => void handle(command));

async function handle(command: Command): Promise<void> {
  switch (command.say) {
    case 'open':
      terminals = command.identities.map(
        (identity) =>
          new Terminal(identity, new Chance(command.seed, identity.id), loopDelay, (observation) =>
            observations.push(observation),
          ),
      );
      return;
    case 'go':
      for (const terminal of terminals) terminal.connectTo(command.url);
      return;
    case 'startLoad':
      for (const terminal of terminals) terminal.startLoad();
      return;
    case 'waitUntilIdle':
      for (const terminal of terminals) terminal.waitUntilIdle();
      process.send?.([...(await waitUntilIdle()), ...(await waitUntilIdle())]);
      return;
    case 'tell':
      process.send?.(observations.splice(0));
  }
}

/**
 * Sends a last event of each terminal: its acknowledgement says that everything before it is on disk.
 * @returns the terminals with pending work after the timeout.
 */
async function waitUntilIdle(): Promise<string[]> {
  const end = performance.now() + idleWithinMs;
  for (const terminal of terminals) terminal.sendBalance();
  for (;;) {
    const pendingWork = terminals.flatMap((terminal) => terminal.pendingWork ?? []);
    if (pendingWork.length === 0 || performance.now() > end) return pendingWork;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
