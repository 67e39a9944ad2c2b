/**
 * Who counts as one client when nothing better is known: an IPv4 address, or the /64 of an IPv6
 * address, since one customer usually holds a whole /64 and could otherwise walk through it. Behind
 * a trusted proxy the client is the right-most address of X-Forwarded-For that no trusted proxy
 * holds: anything left of it was written by the client itself.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

const nothing = new Uint8Array(0);

type Cidr = ReturnType<typeof ipaddr.parseCIDR>;

export interface ClientAddress {
  /**
   * @param peer 4 or 16 bytes, as the socket gives them.
   * @param forwardedFor every X-Forwarded-For header of the request in order, joined by commas;
   *   the first alone may be the client's own. '' when there is none.
   * @param proxied the address that the PROXY protocol names, empty when it names none. It counts only
   *   from a trusted peer.
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
    const named = proxied !== undefined && isTrusted(socketPeer) ? proxied() : nothing;
    const peer = named.length === 0 ? socketPeer : named;
    if (forwardedFor === '' || !isTrusted(peer)) return partitionOf(peer);
    let believed = peer;
    let end = forwardedFor.length;
    while (end > 0) {
      const comma = forwardedFor.lastIndexOf(',', end - 1);
      const named = addressIn(forwardedFor.slice(comma + 1, end));
      if (named === undefined) break;
      believed = named;
      if (!isTrusted(named)) break;
      end = comma;
    }
    return partitionOf(believed);
  };
}

/** Whether a text can stand among the trusted proxies. */
export function isCidr(text: string): boolean {
  const slash = text.indexOf('/');
  const version = isIP(slash === -1 ? text : text.slice(0, slash));
  if (version === 0) return false;
  if (slash === -1) return true;
  const bits = text.slice(slash + 1);
  return /^[0-9]{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128);
}

/** `192.0.2.7`, or `2001:db8:0:1::/64`; whatever is no address at all is one client together. */
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

/** ::ffff:0:0/96, how a socket on `::` shows an IPv4 client. */
function isMappedIpv4(bytes: Uint8Array): boolean {
  for (let i = 0; i < 10; i++) if (bytes[i] !== 0) return false;
  return bytes[10] === 0xff && bytes[11] === 0xff;
}

function parseCidr(text: string): Cidr {
  if (!isCidr(text)) throw new Error(`"${text}" is no IP address or CIDR range.`);
  const [network, bits] = text.includes('/')
    ? ipaddr.parseCIDR(text)
    : [ipaddr.parse(text), isIP(text) === 4 ? 32 : 128];
  // A mapped range names IPv4 peers, which are compared as IPv4.
  return network instanceof ipaddr.IPv6 && network.isIPv4MappedAddress() && bits >= 96
    ? [network.toIPv4Address(), bits - 96]
    : [network, bits];
}

/** One element of X-Forwarded-For: an address, some proxies add brackets, a port or both. */
const elementPattern = /^(?:\[([^\]]*)\](?::[0-9]{1,5})?|([0-9.]+):[0-9]{1,5}|(.*))$/;

function addressIn(element: string): Uint8Array | undefined {
  const match = elementPattern.exec(element.trim());
  const text = match?.[1] ?? match?.[2] ?? match?.[3] ?? '';
  return isIP(text) === 0 ? undefined : Uint8Array.from(ipaddr.parse(text).toByteArray());
}
