/**
 * The rules of a signal envelope for the peer: a JSON schema for Fastify's own validation, what each
 * of its violations is called in the contract, and the rules that depend on the clock.
 */
export const ttlMsMax = 300_000;
const futureSkewMsMax = 60_000;
const unixMsMax = 253_402_300_799_999;
const jsonDepthMax = 16;
const platforms = new Set(['terminal_a', 'terminal_b']);

export const envelopeSchema = {
  type: 'object',
  required: ['v', 'signalId', 'ts', 'ttlMs', 'platform', 'type', 'cmd', 'payload'],
  properties: {
    v: { const: 1 },
    signalId: { type: 'string', minLength: 1, maxLength: 128 },
    ts: { type: 'integer', minimum: 0, maximum: unixMsMax },
    ttlMs: { type: 'integer', minimum: 1, maximum: ttlMsMax },
    platform: { type: 'string', minLength: 1 },
    type: { type: 'string', minLength: 1, maxLength: 64 },
    cmd: { type: 'string', minLength: 1, maxLength: 64 },
    payload: { type: 'object' },
    instanceId: { type: 'string', minLength: 1, maxLength: 128 },
  },
};

const codeOfField = {
  $: 'object_required',
  v: 'unsupported_version',
  signalId: 'invalid_length',
  type: 'invalid_length',
  cmd: 'invalid_length',
  ts: 'invalid_unix_milliseconds',
  ttlMs: 'invalid_ttl',
  platform: 'required',
  payload: 'object_required',
  instanceId: 'invalid_length',
};

/** `errors`: what Fastify's validation found. @returns each violated field once, in table order. */
export function detailsOf(errors) {
  const fields = new Set(
    errors.map(({ instancePath, params }) =>
      instancePath === '' ? (params.missingProperty ?? '$') : instancePath.split('/')[1],
    ),
  );
  return Object.keys(codeOfField)
    .filter((field) => fields.has(field))
    .map((field) => ({ field, code: codeOfField[field] }));
}

/** What the schema cannot know. @returns undefined when nothing is wrong. */
export function untimelyDetails({ ts, ttlMs, platform }, now) {
  if (
    ts <= now + futureSkewMsMax &&
    ts + ttlMs >= now &&
    ts + ttlMs <= unixMsMax &&
    (platforms.has(platform) || tokensOf(platform).every((token) => platforms.has(token)))
  ) {
    return undefined;
  }
  const details = [];
  if (ts > now + futureSkewMsMax) details.push({ field: 'ts', code: 'signal_from_future' });
  if (ts + ttlMs < now) details.push({ field: 'ttlMs', code: 'signal_expired' });
  if (ts + ttlMs > unixMsMax) details.push({ field: 'ttlMs', code: 'timestamp_overflow' });
  if (!tokensOf(platform).every((token) => platforms.has(token))) {
    details.push({ field: 'platform', code: 'unsupported_platform' });
  }
  return details;
}

export function tokensOf(platform) {
  return [...new Set(platform.split(',').map((token) => token.trim()))];
}

/** Whether a parsed text nests deeper than allowed; the root is depth 1. */
export function isTooDeep(value, level = 1) {
  if (typeof value !== 'object' || value === null) return false;
  if (level > jsonDepthMax) return true;
  for (const key in value) if (isTooDeep(value[key], level + 1)) return true;
  return false;
}
