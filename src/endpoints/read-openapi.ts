/** GET /openapi.json: the document of this API. */
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
 * A request of a hundred bytes gets some hundred times as many, and from nobody in particular: without
 * a limit a client that asks and does not read would fill the memory. The limit is the one of other
 * requests without a credential.
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
