/** Formats host names and addresses for URLs. */

/** Puts an IPv6 address in brackets. */
export function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/**
 * @returns the host to connect to when a server listens on `host`: loopback where it listens on all
 * addresses.
 */
export function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return hostInUrl(host === '::' ? '::1' : host);
}
