/**
 * What a test has seen of the gateway that is not as it is documented. Whatever the test makes of it,
 * the process's exit code fails its file.
 */

/** Tells it at once on standard error. @returns the error, for those who can throw it. */
export function noteMismatch(mismatch: string): Error {
  process.exitCode = 1;
  const error = new Error(`Not as documented: ${mismatch}`);
  process.stderr.write(`${error.message}\n`);
  return error;
}
