/**
 * Rounds of a comparison. Sides take turns A B B A, so that a machine that grows warmer, busier or
 * fuller while it is measured is unfair to neither. Each turn starts processes of its own.
 */

/** What one turn measured. A name ends with its unit: `requestsPerSecond`, `p99Ms`. */
export type Figures = Readonly<Record<string, number>>;

/** The turns in their order: every round has each side once, every second round backwards. */
export function turns<A extends string>(
  sides: readonly A[],
  rounds: number,
): { readonly side: A; readonly round: number }[] {
  return Array.from({ length: rounds }, (_, round) =>
    (round % 2 === 0 ? sides : sides.toReversed()).map((side) => ({ side, round })),
  ).flat();
}

/** @returns for each side what its turns measured, in the order of the rounds. */
export async function alternate<A extends string>(
  sides: readonly A[],
  rounds: number,
  run: (side: A, round: number) => Promise<Figures>,
): Promise<Record<A, Figures[]>> {
  const measured = Object.fromEntries(sides.map((side) => [side, []])) as unknown as Record<
    A,
    Figures[]
  >;
  for (const { side, round } of turns(sides, rounds)) {
    measured[side].push(await run(side, round));
  }
  return measured;
}

/** One figure of every round. Throws when a round lacks it, which is a mistake in the bench. */
export function samplesOf(rounds: readonly Figures[], figure: string): number[] {
  return rounds.map((figures) => {
    const value = figures[figure];
    if (value === undefined) throw new Error(`a round did not measure "${figure}"`);
    return value;
  });
}
