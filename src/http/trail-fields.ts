/** What the trail says about a request: where it came from, and why it was refused. */
import { errors, type ErrorCode } from '../errors.js';
import type { TrailFields } from '../model/trail-events.js';
import type { Exchange } from './exchange.js';

/** Read it before the response. */
export function originOf(exchange: Exchange): { traceId: string; clientAddress: string } {
  return { traceId: exchange.request.traceId, clientAddress: exchange.clientAddress };
}

export function refusalOf(exchange: Exchange, code: ErrorCode): TrailFields<'refused'> {
  const { traceId, route, routeIndex } = exchange.request;
  return {
    traceId,
    route: route === undefined || routeIndex < 0 ? 'none' : `${route.method} ${route.path}`,
    status: errors[code].status,
    code,
    clientAddress: exchange.clientAddress,
    userId: exchange.userId,
    keyId: exchange.keyId,
  };
}
