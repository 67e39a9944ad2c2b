/** Bounds the wait for an answer that must come, so that a run ends instead of hanging. */

/** Longer than any answer takes on a busy machine. */
const answerMsMax = 30_000;

export async function withDeadline<T>(answer: Promise<T>, what: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what()} after ${answerMsMax} ms`)), answerMsMax);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
