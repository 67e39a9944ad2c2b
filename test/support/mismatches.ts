/**
 * Reports what the gateway does against its documents. The process's exit code then fails the file, whatever the
 * test makes of it.
 */

/** Writes it at once to standard error. @returns the error, for callers that can throw it. */
export function noteMismatch(mismatch: string): Error {
  process.exitCode = 1;
  const error = new Error(`Not as documented: ${mismatch}`);
  process.stderr.write(`${error.message}\n`);
  return error;
}
