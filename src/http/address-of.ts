/** Finds the address of a request's client from its native response and its `X-Forwarded-For`. */
import { createClientAddress } from '../quota/partition.js';
import type { HttpResponse } from './uws.js';

export type AddressOf = (res: HttpResponse, forwardedFor: string) => Uint8Array;

/** @param trustedCidrs the proxies whose `X-Forwarded-For` is believed. */
export function createAddressOf(trustedCidrs: readonly string[]): AddressOf {
  const clientAddress = createClientAddress(trustedCidrs);
  return (res, forwardedFor) =>
    clientAddress(
      new Uint8Array(res.getRemoteAddress()),
      forwardedFor,
      () => new Uint8Array(res.getProxiedRemoteAddress()),
    );
}
