/**
 * The target `plugins`: hostile terminal plugins against a real gateway, beside a bystander. An input
 * is a frame, a handshake or an order during a takeover.
 */
import type { Chance } from '../../chance.js';
import { pickKinds } from '../../pick-kinds.js';
import type { Target } from '../target.js';
import { TestBed } from '../test-bed.js';
import { PluginSession } from './plugin-session.js';
import { runTakeover } from './takeover.js';
import { runFraming } from './framing.js';
import { tryHandshake } from './handshakes.js';
import { Sources } from './sources.js';
import { runSlowConsumer } from './slow-consumer.js';

/** Inputs between two checks of the bystander and the gateway. */
const inputsPerRound = 2_000;

export const fuzzPlugins: Target = async (run, inputs) => {
  const { verdict } = run;
  const chance = run.chance.child('plugins');
  const bed = await TestBed.open(run, 'plugins');
  const sources = new Sources(bed, chance.child('sources'));
  /** Each returns its number of inputs. */
  const scenarios = {
    frames(own: Chance) {
      const source = sources.next();
      return new PluginSession(bed, source, sources.siblingsOf(source), own).run();
    },
    framing: (own: Chance) => runFraming(bed, own),
    handshake: (own: Chance) => tryHandshake(bed, own),
    takeover: (own: Chance) => runTakeover(bed, own),
  };
  const weights = { frames: 10, framing: 5, handshake: 10, takeover: 0.5 };
  const count = { frames: 0, framing: 0, handshake: 0, takeover: 0 };
  const kinds = pickKinds(chance.child('kinds'), weights);
  let played = 0;
  let floods = 0;
  await bed.checkBystander();
  const isClean = (): boolean => verdict.violations.length === 0;
  while (played < inputs && isClean()) {
    verdict.round++;
    const roundEnd = Math.min(inputs, played + inputsPerRound);
    while (played < roundEnd && isClean()) {
      const scenario = kinds.next().value;
      const own = chance.child(`${scenario} ${++count[scenario]}`);
      played += await scenarios[scenario](own);
    }
    floods += await runSlowConsumer(bed, chance.child(`slow consumer ${verdict.round}`));
    await bed.checkBystander();
  }
  await bed.close();
  return (
    `${played} inputs in ${JSON.stringify(count)} and ${floods} frames to slow consumers, ` +
    `${bed.isolation.searched} texts searched, ${bed.gateway.memoryMb} MB at most`
  );
};
