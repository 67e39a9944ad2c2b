/**
 * The order in which a run injects its kinds of faults, or tries its kinds of inputs: each kind once,
 * so that a short run covers all of them, then at random by weight.
 */
import type { Chance } from './chance.js';

/**
 * @param weights a kind with weight 0 is never picked.
 * @param parts of kinds' names, separated by commas: only kinds with one of them in their name are
 * picked. Empty for all kinds.
 */
export function* pickKinds<Name extends string>(
  chance: Chance,
  weights: Readonly<Record<Name, number>>,
  parts = '',
): Generator<Name, never> {
  const wanted = Object.entries<number>(weights).filter(
    ([name, weight]) => weight > 0 && parts.split(',').some((part) => name.includes(part)),
  );
  if (wanted.length === 0) throw new Error(`no kind has ${parts} in its name`);
  const left = new Map(wanted);
  for (;;) {
    const name = chance.weigh(Object.fromEntries(left.size > 0 ? left : wanted)) as Name;
    left.delete(name);
    yield name;
  }
}
