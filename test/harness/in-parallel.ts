/**
 * Calls `work` `count` times, `lanes` calls at a time. A call that resolves with false ends the
 * series: no further call begins, those under way are awaited.
 * @param work gets the number of its lane, from 0.
 */
export async function inParallel(
  lanes: number,
  count: number,
  work: (lane: number) => Promise<boolean>,
): Promise<void> {
  let left = count;
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      while (left-- > 0) if (!(await work(lane))) left = 0;
    }),
  );
}
