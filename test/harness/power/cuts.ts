/** Chooses the cuts of a recording that are tried: up to half of them systematic, the rest random. */
import type { Chance } from '../chance.js';
import type { FateName } from './power-cut.js';
import type { Recorder } from './recorder.js';

export interface Cut {
  /** Number of the last event before the cut. */
  readonly at: number;
  readonly fate: FateName;
}

const fateWeights = {
  'what is synced': 3,
  everything: 1,
  'names without bytes': 1,
  'any of it': 3,
  torn: 2,
  'little, torn': 3,
  'most, torn': 3,
} as const satisfies Record<FateName, number>;

/** @returns the cuts in the order of their moments. */
export function chooseCuts(recorder: Recorder, count: number, chance: Chance): Cut[] {
  const { departures, syncs, end } = recorder;
  const answers = [departures.answers, departures.frames].flatMap((each) => [...each.values()]);
  const said = [...new Set([...answers, ...departures.results])].filter((at) => at <= end);
  // Was all that was said synced? Is it there after each sync? Does a write torn before a sync do harm?
  const systematic = [
    cutsAt(said.concat(syncs), 'what is synced'),
    cutsAt(syncs, 'everything'),
    cutsAt(
      syncs.map((at) => at - 1),
      'torn',
    ),
  ].flatMap((each) => chance.shuffled(each).slice(0, Math.ceil(count / 6)));
  const [first, firstSaid] = [Math.min(...syncs), Math.min(...said)];
  const random = Array.from({ length: Math.max(0, count - systematic.length) }, (): Cut => {
    const moment = chance.weigh({ said: 2, 'before a sync': 3, 'first start': 1, any: 2 });
    const at = {
      said: () => chance.pick(said),
      'before a sync': () => chance.pick(syncs) - 1,
      'first start': () => chance.between(first, firstSaid),
      any: () => chance.between(first, end),
    }[moment]();
    return { at, fate: chance.weigh(fateWeights) };
  });
  return [...systematic, ...random].sort((a, b) => a.at - b.at);
}

/** Takes each cut at the first moment that is not before it: several events may pass between two moments. */
export function* takeCuts<Moment extends { readonly calls: { readonly now: number } }>(
  moments: Iterable<Moment>,
  cuts: readonly Cut[],
): Generator<Moment & Pick<Cut, 'fate'>> {
  let next = 0;
  for (const moment of moments) {
    for (let cut = cuts[next]; cut !== undefined && cut.at <= moment.calls.now; cut = cuts[next]) {
      next++;
      yield { ...moment, fate: cut.fate };
    }
  }
}

function cutsAt(moments: readonly number[], fate: FateName): Cut[] {
  return moments.map((at) => ({ at, fate }));
}
