/**
 * Validates settings and arguments that fetch would reject later, possibly quoting a secret in its error
 * message. Throws, because an invalid one is a bug of the caller.
 */
import { cancelAfterMs } from '../model/cancellation.js';

export function checkedBaseUrl(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  const isHttp = url !== undefined && /^https?:$/.test(url.protocol);
  if (!isHttp || url.username !== '' || url.password !== '') {
    throw new TypeError('baseUrl must begin with http:// or https:// and hold no credentials.');
  }
  return url.origin + url.pathname.replace(/\/+$/, '');
}

/** The error does not contain the value, which may be a secret. */
export function checkedApiKey(apiKey: string): string {
  if (/^svc_api_[\x21-\x7e]+$/.test(apiKey)) return apiKey;
  throw new TypeError('apiKey must be a Public API key: svc_api_ and its secret, without spaces.');
}

export function checkedIdempotencyKey(key: string): string {
  if (/^[\x21-\x7e]+( +[\x21-\x7e]+)*$/.test(key)) return key;
  throw new TypeError('idempotencyKey must be visible ASCII, with spaces only inside.');
}

const targetFields = ['platform', 'instanceId', 'accountName', 'instrument'] as const;

/** Target of a signal or a filter: a setting that the bot failed to read must not send an order to every account. */
export function checkedTarget<T extends object>(target: T): T {
  const fields = target as { readonly [name in (typeof targetFields)[number]]?: unknown };
  const unset = targetFields.find((name) => name in fields && fields[name] === undefined);
  if (unset === undefined) return target;
  throw new TypeError(`${unset} must not be undefined: JSON leaves it out, which may mean all.`);
}

/**
 * Seconds in place of milliseconds, or NaN, would be renewed so often that the key has no requests left to trade. The
 * gateway arms no switch for a fraction.
 */
export function checkedSwitchMs(timeoutMs: number): number {
  const { min, max } = cancelAfterMs;
  if (Number.isInteger(timeoutMs) && timeoutMs >= min && timeoutMs <= max) return timeoutMs;
  throw new TypeError(`timeoutMs must be ${min} to ${max}, in whole milliseconds.`);
}

/** Other characters are not valid in a header, and the stream could not be resumed. */
export function isCursor(id: string): boolean {
  return /^[\x21-\x7e]+$/.test(id);
}

export function checkCursor(id: string | undefined): void {
  if (id === undefined || isCursor(id)) return;
  throw new TypeError('lastEventId must be the id of an event of the stream.');
}
