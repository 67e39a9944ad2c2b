/**
 * IP addresses and ranges of them (CIDR), compared by their bytes. An IPv4 address that is mapped into IPv6
 * (`::ffff:192.0.2.7`, as a dual-stack socket reports it) counts as the IPv4 address. Stateless.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** All addresses that share the first `bits` of `network`. */
export interface Cidr {
  /** 4 or 16 bytes. */
  readonly network: Uint8Array;
  readonly bits: number;
}

/** Bytes of the prefix ::ffff:0:0/96. */
const mappedPrefix = 12;

/** Whether the value is the text of an IP address or a CIDR range. */
export function isCidr(value: unknown): value is string {
  return typeof value === 'string' && readCidr(value) !== undefined;
}

/** Throws for a text that `isCidr` does not accept. */
export function parseCidr(text: string): Cidr {
  const cidr = readCidr(text);
  if (cidr === undefined) throw new Error(`"${text}" is not an IP address or CIDR range.`);
  return cidr;
}

function readCidr(text: string): Cidr | undefined {
  const slash = text.indexOf('/');
  const address = slash === -1 ? text : text.slice(0, slash);
  // A zone is not compared, so a range has none.
  const network = address.includes('%') ? undefined : readAddress(address);
  if (network === undefined) return undefined;
  const whole = network.length * 8;
  const bits = slash === -1 ? String(whole) : text.slice(slash + 1);
  if (!/^[0-9]{1,3}$/.test(bits) || Number(bits) > whole) return undefined;
  const length = Number(bits);
  // Addresses are compared as IPv4 where they are mapped, so a mapped range must be, too.
  return isMappedIpv4(network) && length >= mappedPrefix * 8
    ? { network: network.subarray(mappedPrefix), bits: length - mappedPrefix * 8 }
    : { network, bits: length };
}

/** @param address 4 or 16 bytes; of any other length it lies in no range. */
export function isInRange({ network, bits }: Cidr, address: Uint8Array): boolean {
  const from = isMappedIpv4(address) ? mappedPrefix : 0;
  if (address.length - from !== network.length) return false;
  const whole = bits >> 3;
  for (let at = 0; at < whole; at++) if (address[from + at] !== network[at]) return false;
  const rest = 8 - (bits & 7);
  return rest === 8 || address[from + whole]! >> rest === network[whole]! >> rest;
}

/**
 * @returns 4 or 16 bytes; undefined for a text that is no address. Leaves out a zone (`%eth0`), which is one
 * machine's name of a link.
 */
export function readAddress(text: string): Uint8Array | undefined {
  const [address = ''] = text.split('%', 1);
  // Each of the two checks accepts texts that the other one refuses.
  if (isIP(text) === 0 || !ipaddr.isValid(address)) return undefined;
  // ipaddr.js takes ::192.0.2.7 for ::ffff:192.0.2.7, which would be the IPv4 address; with the 0 it does not.
  return Uint8Array.from(ipaddr.parse(address.replace(/^::(?=[0-9]+\.)/, '0::')).toByteArray());
}

/** ::ffff:0:0/96: a dual-stack socket reports IPv4 clients like this. */
export function isMappedIpv4(bytes: Uint8Array): boolean {
  if (bytes.length !== 16) return false;
  for (let i = 0; i < 10; i++) if (bytes[i] !== 0) return false;
  return bytes[10] === 0xff && bytes[11] === 0xff;
}
