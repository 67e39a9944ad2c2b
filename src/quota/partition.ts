/**
 * Derives the rate-limit partition of an unauthenticated client: its IPv4 address, or the /64 of its IPv6
 * address, because one customer usually has a whole /64 and could otherwise rotate through it. Behind a trusted
 * proxy the client is the right-most untrusted address of X-Forwarded-For: a client can forge everything to the
 * left of it.
 */
import ipaddr from 'ipaddr.js';
import { isInRange, isMappedIpv4, parseCidr, readAddress } from '../lib/cidr.js';

const noAddress = new Uint8Array(0);

export interface ClientAddress {
  /**
   * @param peer the socket's remote address, 4 or 16 bytes.
   * @param forwardedFor all X-Forwarded-For headers of the request in order, joined by commas: a proxy may
   *   append a header of its own. '' when there is none.
   * @param proxied returns the address of the PROXY protocol header, empty when there is none. Ignored unless
   *   the peer is trusted.
   * @returns the client's address.
   */
  (peer: Uint8Array, forwardedFor: string, proxied?: () => Uint8Array): Uint8Array;
}

/** @param trustedCidrs proxies, as `10.0.0.0/8`, `fd00::/8` or a single address. */
export function createClientAddress(trustedCidrs: readonly string[]): ClientAddress {
  const trusted = trustedCidrs.map(parseCidr);

  const isTrusted = (peer: Uint8Array): boolean => trusted.some((cidr) => isInRange(cidr, peer));

  return (socketPeer, forwardedFor, proxied) => {
    const origin = proxied !== undefined && isTrusted(socketPeer) ? proxied() : noAddress;
    const peer = origin.length === 0 ? socketPeer : origin;
    if (forwardedFor === '' || !isTrusted(peer)) return peer;
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
    return client;
  };
}

/** @returns `192.0.2.7` or `2001:db8:0:1::/64`; `unknown` for all invalid addresses together. */
export function partitionOf(bytes: Uint8Array): string {
  if (bytes.length !== 16 || isMappedIpv4(bytes)) return addressText(bytes);
  return `${group(bytes, 0)}:${group(bytes, 2)}:${group(bytes, 4)}:${group(bytes, 6)}::/64`;
}

/** @returns `192.0.2.7` or `2001:db8::7`; `unknown` for an invalid address. */
export function addressText(bytes: Uint8Array): string {
  if (bytes.length === 4) return ipv4(bytes, 0);
  if (bytes.length !== 16) return 'unknown';
  if (isMappedIpv4(bytes)) return ipv4(bytes, 12);
  return ipaddr.fromByteArray(Array.from(bytes)).toString();
}

let latestIpv4 = -1;
let latestText = '';

/** Keeps the last text: a client that is refused again and again has one address. */
function ipv4(bytes: Uint8Array, at: number): string {
  const a = bytes[at]!;
  const b = bytes[at + 1]!;
  const c = bytes[at + 2]!;
  const d = bytes[at + 3]!;
  const number = ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
  if (number !== latestIpv4) {
    latestIpv4 = number;
    latestText = `${a}.${b}.${c}.${d}`;
  }
  return latestText;
}

function group(bytes: Uint8Array, at: number): string {
  return ((bytes[at]! << 8) | bytes[at + 1]!).toString(16);
}

/** One element of X-Forwarded-For: an address; some proxies add brackets, a port or both. */
const elementPattern = /^(?:\[([^\]]*)\](?::[0-9]{1,5})?|([0-9.]+):[0-9]{1,5}|(.*))$/;

function addressIn(element: string): Uint8Array | undefined {
  const match = elementPattern.exec(element.trim());
  return readAddress(match?.[1] ?? match?.[2] ?? match?.[3] ?? '');
}
