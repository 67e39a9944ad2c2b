/** Host names and addresses as URLs write them. */

/** An IPv6 address stands in brackets. */
export function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** The host to connect to for a server that listens on `host`: "all addresses" is none to connect to. */
export function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return hostInUrl(host === '::' ? '::1' : host);
}
