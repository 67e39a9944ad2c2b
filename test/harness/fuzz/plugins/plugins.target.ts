/**
 * The target `plugins`: hostile terminal plugins against the real gateway, with a bystander beside
 * them. What is counted as an input is a frame, a handshake or an order that is fought over.
 */
import type { Chance } from '../../chance.js';
import type { Target } from '../target.js';
import { Arena } from '../test-bed.js';
import { Episode } from './plugin-session.js';
import { playFight } from './takeover.js';
import { playFraming } from './framing.js';
import { playHandshake } from './handshakes.js';
import { Sources } from './sources.js';
import { playStandstill } from './slow-consumer.js';

/** Inputs between two looks at the bystander and at the gateway as a whole. */
const inputsPerRound = 2_000;

export const playPlugins: Target = async (trial, inputs) => {
  const { verdict } = trial;
  const chance = trial.chance.child('plugins');
  const arena = await Arena.open(trial, 'plugins');
  const sources = new Sources(arena, chance.child('sources'));
  /** Each plays one scene. @returns how many inputs it took. */
  const scenes = {
    words(own: Chance) {
      const source = sources.next();
      return new Episode(arena, source, sources.siblingsOf(source), own).play();
    },
    framing: (own: Chance) => playFraming(arena, own),
    handshake: (own: Chance) => playHandshake(arena, own),
    fight: (own: Chance) => playFight(arena, own),
  };
  const weights = { words: 10, framing: 5, handshake: 10, fight: 0.5 };
  const count = { words: 0, framing: 0, handshake: 0, fight: 0 };
  let played = 0;
  let floods = 0;
  await arena.checkBystander();
  const isClean = (): boolean => verdict.violations.length === 0;
  while (played < inputs && isClean()) {
    verdict.round++;
    const roundEnd = Math.min(inputs, played + inputsPerRound);
    while (played < roundEnd && isClean()) {
      const scene = chance.weigh(weights);
      const own = chance.child(`${scene} ${++count[scene]}`);
      played += await scenes[scene](own);
    }
    floods += await playStandstill(arena, chance.child(`standstill ${verdict.round}`));
    await arena.checkBystander();
  }
  await arena.close();
  return (
    `${played} inputs in ${JSON.stringify(count)} and ${floods} to plugins that did not read, ` +
    `${arena.isolation.searched} texts searched, ${arena.gateway.memoryMb} MB at most`
  );
};
