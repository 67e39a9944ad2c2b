/** Waits for an answer that must come, and says which did not: a fuzz run must end, not hang. */

/** How long a busy machine may take over an answer. */
const answerMsMax = 30_000;

export async function inTime<T>(answer: Promise<T>, what: () => string): Promise<T> {
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
