/**
 * The terminals of the fault test, in a process of their own: their memory outlives the gateway, and
 * the load of the bots does not delay what they see. Ends with the process that started it.
 */
import { Chance } from '../chance.js';
import type { Command, Observation, Reply } from './observation.js';
import { startPulse } from './event-loop-delay.js';
import { Terminal } from './terminal.js';

const calmWithinMs = 15_000;

const pulse = startPulse();
let terminals: Terminal[] = [];
const observations: Observation[] = [];

process.on('disconnect', () => process.exit(0));
process.on('message', (command: Command) => void obey(command));

async function obey(command: Command): Promise<void> {
  switch (command.say) {
    case 'open':
      terminals = command.places.map(
        (place) =>
          new Terminal(place, new Chance(command.seed, place.id), pulse, (observation) =>
            observations.push(observation),
          ),
      );
      return;
    case 'go':
      for (const terminal of terminals) terminal.go(command.url);
      return;
    case 'storm':
      for (const terminal of terminals) terminal.storm();
      return;
    case 'calm':
      for (const terminal of terminals) terminal.calm();
      return answer({ reply: 'calm', unrest: [...(await comeToRest()), ...(await comeToRest())] });
    case 'tell':
      return answer({ reply: 'observations', observations: observations.splice(0) });
  }
}

function answer(reply: Reply): void {
  process.send?.(reply);
}

/**
 * With a last word of each terminal: once that is acknowledged, all that the gateway had to write
 * before it is on disk. @returns what did not come to rest in time.
 */
async function comeToRest(): Promise<string[]> {
  const end = performance.now() + calmWithinMs;
  for (const terminal of terminals) terminal.tellBalance();
  for (;;) {
    const unrest = terminals.flatMap((terminal) => terminal.unrest ?? []);
    if (unrest.length === 0 || performance.now() > end) return unrest;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
