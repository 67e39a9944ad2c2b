/** Makes an interrupted run end like a finished one: its processes ended, its directories removed. */

/** What a shell reports for a process that a signal ended. */
const exitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

export function exitOnSignals(): void {
  for (const [signal, code] of Object.entries(exitCodes)) {
    process.once(signal, () => process.exit(code));
  }
}
