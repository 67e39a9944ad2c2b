/**
 * What a caller gives by hand and fetch would refuse, or worse, would quote in an error message:
 * checked before the first use. A mistake here is one in the program, hence the exceptions.
 */
export function checkedBaseUrl(baseUrl: string): string {
  const url = new URL(baseUrl);
  if (!/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new TypeError('baseUrl must begin with http:// or https:// and hold no credentials.');
  }
  return url.origin + url.pathname.replace(/\/+$/, '');
}

/** The texts name no value: a wrong key may still be somebody's secret. */
export function checkedApiKey(apiKey: string): string {
  if (/^svc_api_[\x21-\x7e]+$/.test(apiKey)) return apiKey;
  throw new TypeError('apiKey must be a Public API key: svc_api_ and its secret, without spaces.');
}

export function checkedIdempotencyKey(key: string): string {
  if (/^[\x21-\x7e]+( +[\x21-\x7e]+)*$/.test(key)) return key;
  throw new TypeError('idempotencyKey must be visible ASCII, with spaces only inside.');
}

/** Anything else, no header can carry: the stream could never be opened again. */
export function isCursor(id: string): boolean {
  return /^[\x21-\x7e]+$/.test(id);
}

export function checkCursor(id: string | undefined): void {
  if (id === undefined || isCursor(id)) return;
  throw new TypeError('lastEventId must be the id of an event, as the stream gave it.');
}
