/** GET /openapi.json: the OpenAPI document. */
import type { OpenEndpoint } from '../http/endpoint.js';
import type { Clock } from '../lib/clock.js';
import type { Limits } from '../limits.js';
import { BucketMap } from '../quota/token-bucket.js';

export interface ReadOpenApiDeps {
  readonly clock: Clock;
  readonly limits: Limits;
  readonly document: object;
}

/**
 * Rate-limited per client address like failed authentications: the response is some hundred times as large as
 * an unauthenticated request, and clients that do not read it would exhaust the memory.
 */
export function createReadOpenApi({ clock, limits, document }: ReadOpenApiDeps): OpenEndpoint {
  const text = JSON.stringify(document);
  const requests = new BucketMap<string>(limits.unauthenticatedAttemptsPerMinute);

  return (exchange) => {
    const now = clock.monotonic();
    const bucket = requests.of(exchange.partition, now);
    if (bucket.take(now)) return exchange.reply(200, text);
    exchange.fail('rate_limit_exceeded', {
      message: 'Too many requests from this address; wait for Retry-After.',
      retryAfter: bucket.retryAfterMs(now) / 1000,
    });
  };
}
