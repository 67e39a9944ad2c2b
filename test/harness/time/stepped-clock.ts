/**
 * Preloaded into a gateway process (`node --import`): sets the wall clock of that process and blocks
 * its event loop on command, unknown to the product. Commands come through a small file that is polled;
 * each is confirmed in a file beside it. Only `Date` is replaced: monotonic time and the clocks of
 * native code stay the system's.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

export const clockFileVariable = 'STEPPED_CLOCK_FILE';

export interface ClockCommand {
  /** Counts the commands from 1. */
  readonly number: number;
  /** The process's wall clock minus the system's. */
  readonly offsetMs: number;
  /** How long the event loop is blocked after the clock is set. */
  readonly holdMs: number;
}

const lookMs = 10;

function wrapDate(offsetMs: () => number): void {
  const system = Date;
  const now = (): number => system.now() + offsetMs();
  globalThis.Date = new Proxy(system, {
    construct: (target, args: unknown[], newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget) as object,
    apply: () => new system(now()).toString(),
    get: (target, name, receiver): unknown =>
      name === 'now' ? now : Reflect.get(target, name, receiver),
  });
}

function pollCommands(file: string): void {
  let done: ClockCommand = { number: 0, offsetMs: 0, holdMs: 0 };
  const look = (): void => {
    const command = JSON.parse(readFileSync(file, 'utf8')) as ClockCommand;
    if (command.number === done.number) return;
    done = command;
    const end = performance.now() + command.holdMs;
    while (performance.now() < end);
    writeFileSync(doneFile(file), `${command.number}`);
  };
  look();
  wrapDate(() => done.offsetMs);
  setInterval(look, lookMs).unref();
}

/** Contains the number of the last executed command. */
export function doneFile(file: string): string {
  return `${file}.done`;
}

const file = process.env[clockFileVariable];
if (file !== undefined && isMainThread) pollCommands(file);
