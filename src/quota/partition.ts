/**
 * Derives the rate-limit partition of an unauthenticated client: its IPv4 address, or the /64 of its IPv6
 * address, because one customer usually has a whole /64 and could otherwise rotate through it. Behind a trusted
 * proxy the client is the right-most untrusted address of X-Forwarded-For: a client can forge everything to the
 * left of it.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

const noAddress = new Uint8Array(0);

type Cidr = ReturnType<typeof ipaddr.parseCIDR>;

export interface ClientAddress {
  /**
   * @param peer the socket's remote address, 4 or 16 bytes.
   * @param forwardedFor all X-Forwarded-For headers of the request in order, joined by commas: a proxy may
   *   append a header of its own. '' when there is none.
   * @param proxied returns the address of the PROXY protocol header, empty when there is none. Ignored unless
   *   the peer is trusted.
   */
  (peer: Uint8Array, forwardedFor: string, proxied?: () => Uint8Array): string;
}

/** @param trustedCidrs proxies, as `10.0.0.0/8`, `fd00::/8` or a single address. */
export function createClientAddress(trustedCidrs: readonly string[]): ClientAddress {
  const trusted = trustedCidrs.map(parseCidr);

  const isTrusted = (peer: Uint8Array): boolean => {
    if (trusted.length === 0 || (peer.length !== 4 && peer.length !== 16)) return false;
    let address = ipaddr.fromByteArray(Array.from(peer));
    if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress()) {
      address = address.toIPv4Address();
    }
    return trusted.some(([network, bits]) => {
      return network.kind() === address.kind() && address.match(network, bits);
    });
  };

  return (socketPeer, forwardedFor, proxied) => {
    const origin = proxied !== undefined && isTrusted(socketPeer) ? proxied() : noAddress;
    const peer = origin.length === 0 ? socketPeer : origin;
    if (forwardedFor === '' || !isTrusted(peer)) return partitionOf(peer);
    let client = peer;
    let end = forwardedFor.length;
    while (end > 0) {
      const comma = forwardedFor.lastIndexOf(',', end - 1);
      const address = addressIn(forwardedFor.slice(comma + 1, end));
      if (address === undefined) break;
      client = address;
      if (!isTrusted(address)) break;
      end = comma;
    }
    return partitionOf(client);
  };
}

/** Whether the text is an IP address or a CIDR range. */
export function isCidr(text: string): boolean {
  const slash = text.indexOf('/');
  const version = isIP(slash === -1 ? text : text.slice(0, slash));
  if (version === 0) return false;
  if (slash === -1) return true;
  const bits = text.slice(slash + 1);
  return /^[0-9]{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128);
}

/** @returns `192.0.2.7` or `2001:db8:0:1::/64`; `unknown` for all invalid addresses together. */
export function partitionOf(address: ArrayBuffer | Uint8Array): string {
  const bytes = address instanceof ArrayBuffer ? new Uint8Array(address) : address;
  if (bytes.length === 4) return ipv4(bytes, 0);
  if (bytes.length !== 16) return 'unknown';
  if (isMappedIpv4(bytes)) return ipv4(bytes, 12);
  return `${group(bytes, 0)}:${group(bytes, 2)}:${group(bytes, 4)}:${group(bytes, 6)}::/64`;
}

function ipv4(bytes: Uint8Array, at: number): string {
  return `${bytes[at]!}.${bytes[at + 1]!}.${bytes[at + 2]!}.${bytes[at + 3]!}`;
}

function group(bytes: Uint8Array, at: number): string {
  return ((bytes[at]! << 8) | bytes[at + 1]!).toString(16);
}

/** ::ffff:0:0/96: a dual-stack socket reports IPv4 clients like this. */
function isMappedIpv4(bytes: Uint8Array): boolean {
  for (let i = 0; i < 10; i++) if (bytes[i] !== 0) return false;
  return bytes[10] === 0xff && bytes[11] === 0xff;
}

function parseCidr(text: string): Cidr {
  if (!isCidr(text)) throw new Error(`"${text}" is not an IP address or CIDR range.`);
  const [network, bits] = text.includes('/')
    ? ipaddr.parseCIDR(text)
    : [ipaddr.parse(text), isIP(text) === 4 ? 32 : 128];
  // IPv4-mapped peers are compared as IPv4, so a mapped range must be, too.
  return network instanceof ipaddr.IPv6 && network.isIPv4MappedAddress() && bits >= 96
    ? [network.toIPv4Address(), bits - 96]
    : [network, bits];
}

/** One element of X-Forwarded-For: an address; some proxies add brackets, a port or both. */
const elementPattern = /^(?:\[([^\]]*)\](?::[0-9]{1,5})?|([0-9.]+):[0-9]{1,5}|(.*))$/;

function addressIn(element: string): Uint8Array | undefined {
  const match = elementPattern.exec(element.trim());
  const text = match?.[1] ?? match?.[2] ?? match?.[3] ?? '';
  return isIP(text) === 0 ? undefined : Uint8Array.from(ipaddr.parse(text).toByteArray());
}
