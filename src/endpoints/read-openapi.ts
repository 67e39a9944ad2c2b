/** GET /openapi.json and GET /openapi-3.0.json: the OpenAPI document in two versions. */
import type { OpenEndpoint } from '../http/endpoint.js';
import type { Clock } from '../lib/clock.js';
import { constantBytes } from '../lib/text-bytes.js';
import type { Limits } from '../limits.js';
import { BucketMap } from '../quota/token-bucket.js';

/** Makes the documents. Each is made once, at its first request. */
export interface ApiDocuments {
  readonly openApi31: () => object;
  readonly openApi30: () => object;
}

export interface ReadOpenApiDeps {
  readonly clock: Clock;
  readonly limits: Limits;
  readonly documents: ApiDocuments;
}

/**
 * Rate-limited per client address like failed authentications: the response is some hundred times as large as
 * an unauthenticated request, and clients that do not read it would exhaust the memory.
 */
export function createReadOpenApi({ clock, limits, documents }: ReadOpenApiDeps) {
  const requests = new BucketMap<string>(limits.unauthenticatedAttemptsPerMinute);

  return {
    'read-openapi': read(documents.openApi31),
    'read-openapi-3-0': read(documents.openApi30),
  };

  function read(create: () => object): OpenEndpoint {
    let body: Uint8Array | undefined;
    return (exchange) => {
      const now = clock.monotonic();
      const bucket = requests.of(exchange.partition, now);
      if (bucket.take(now)) {
        return exchange.reply(200, (body ??= constantBytes(JSON.stringify(create()))));
      }
      exchange.fail('rate_limit_exceeded', {
        message: 'Too many requests from this address; wait for Retry-After.',
        retryAfter: bucket.retryAfterMs(now) / 1000,
      });
    };
  }
}
