/**
 * What a test has seen of the gateway that is not as it is documented. Whatever the test makes of it,
 * the process ends with an exit code that fails it.
 */
let count = 0;

/** Tells it at once on standard error. @returns the error, for those who can throw it. */
export function noteMismatch(mismatch: string): Error {
  if (count++ === 0) {
    process.on('exit', () => {
      process.exitCode ||= 1;
    });
  }
  const error = new Error(`Not as documented: ${mismatch}`);
  process.stderr.write(`${error.message}\n`);
  return error;
}
