/**
 * Keeps the dead-man's switch of the key armed while the bot lives: renews it several times within its timeout,
 * until it is stopped. A renewal that fails is repeated at once, for the gateway cancels when none arrives.
 */
import type { Clock, Timer } from '../lib/clock.js';
import { field } from './json-fields.js';
import type { Result } from './result.js';

/** The switch as the gateway has stored it. */
export interface CancelAfterState {
  readonly armed: boolean;
  readonly timeoutMs: number;
  /** ISO 8601 UTC; null while it is not armed. */
  readonly firesAt: string | null;
  readonly lastFiredAt: string | null;
}

export interface CancelAfterOptions {
  /** Called with the result of every renewal, such as to log one that failed. */
  readonly onRenewed?: (result: Result<CancelAfterState>) => void;
}

/** A switch that renews itself. */
export interface RenewedSwitch {
  /** The result of the first call: do not trade before it is ok. */
  readonly armed: Promise<Result<CancelAfterState>>;
  /**
   * Renews no more, once the renewal under way has ended. The switch stays armed, and fires, unless `disarm` is
   * true. Resolves when nothing more is sent.
   */
  stop(options?: { readonly disarm?: boolean }): Promise<Result<CancelAfterState> | undefined>;
}

/** Renewals within one timeout: two may be lost. */
const renewalsPerTimeout = 3;

/** @param call one call of the API, repeated by the retry rules within `giveUpAfterMs`. */
export function renewSwitch(
  clock: Clock,
  timeoutMs: number,
  call: (timeoutMs: number, giveUpAfterMs: number) => Promise<Result<CancelAfterState>>,
  { onRenewed }: CancelAfterOptions = {},
): RenewedSwitch {
  const intervalMs = timeoutMs / renewalsPerTimeout;
  let timer: Timer | undefined;
  let isStopped = false;
  let renewal = renew();

  async function renew(): Promise<Result<CancelAfterState>> {
    const begunAt = clock.monotonic();
    const result = await call(timeoutMs, intervalMs);
    const elapsedMs = clock.monotonic() - begunAt;
    if (!isStopped) timer = clock.setTimer(Math.max(0, intervalMs - elapsedMs), renewAgain);
    onRenewed?.(result);
    return result;
  }

  function renewAgain(): void {
    renewal = renew();
  }

  return {
    armed: renewal,
    async stop({ disarm = false } = {}) {
      isStopped = true;
      timer?.cancel();
      // A renewal that is sent, or repeated, after the call that disarms the switch would arm it again.
      await renewal;
      return disarm ? call(0, timeoutMs) : undefined;
    },
  };
}

/** @returns undefined when the body is not that of a switch. */
export function readCancelAfter(body: unknown): CancelAfterState | undefined {
  const isWhole =
    typeof field(body, 'armed') === 'boolean' && Number.isInteger(field(body, 'timeoutMs'));
  return isWhole ? (body as CancelAfterState) : undefined;
}
