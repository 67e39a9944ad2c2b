/**
 * Loaded into a gateway process before its own code (`node --import`): the wall clock of that process
 * can then be set from outside, and its event loop held, while the product knows of nothing. Orders
 * come by a small file that is looked at all the time; each is noted in a file beside it when done.
 * Only `Date` is wrapped: monotonic time stays the system's, and so do the clocks of native code.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

export const clockFileVariable = 'STEPPED_CLOCK_FILE';

export interface ClockOrder {
  /** Counts the orders from 1. */
  readonly number: number;
  /** Of the wall clock against the system's. */
  readonly offsetMs: number;
  /** For how long the loop is held, busy, once the clock is set. */
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

function obey(file: string): void {
  let done: ClockOrder = { number: 0, offsetMs: 0, holdMs: 0 };
  const look = (): void => {
    const order = JSON.parse(readFileSync(file, 'utf8')) as ClockOrder;
    if (order.number === done.number) return;
    done = order;
    const end = performance.now() + order.holdMs;
    while (performance.now() < end);
    writeFileSync(doneFile(file), `${order.number}`);
  };
  look();
  wrapDate(() => done.offsetMs);
  setInterval(look, lookMs).unref();
}

/** Where the number of the last order that was carried out stands. */
export function doneFile(file: string): string {
  return `${file}.done`;
}

const file = process.env[clockFileVariable];
if (file !== undefined && isMainThread) obey(file);
