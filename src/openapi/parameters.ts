/** Defines the path, query and header parameters of the operations, with the effective limits. */
import { pageLimits } from '../endpoints/list-signals.js';
import { waitMsMax } from '../endpoints/read-signal.js';
import type { Limits } from '../limits.js';
import { References } from './references.js';

interface Parameter {
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: object;
}

export function documentParameters(limits: Limits) {
  return {
    id: {
      in: 'path',
      required: true,
      description: 'The id of the API key.',
      schema: { type: 'integer', minimum: 1 },
    },
    requestId: {
      in: 'path',
      required: true,
      description: 'The `requestId` of the 202 response.',
      schema: { type: 'string' },
    },
    waitMs: {
      in: 'query',
      required: false,
      description:
        'Milliseconds to wait for the completion of the signal; the answer comes as soon as it is completed.',
      schema: { type: 'integer', minimum: 0, maximum: waitMsMax, default: 0 },
    },
    status: {
      in: 'query',
      required: false,
      description: 'Only signals that are not completed (`open`), or only those that are.',
      schema: { ...References.to('SignalFilter'), default: 'all' },
    },
    limit: {
      in: 'query',
      required: false,
      description:
        'Most signals on a page. A page may have fewer, even none, although `next` is set.',
      schema: {
        type: 'integer',
        minimum: pageLimits.min,
        maximum: pageLimits.max,
        default: pageLimits.default,
      },
    },
    before: {
      in: 'query',
      required: false,
      description:
        'Only signals that were accepted before this `requestId`; send the `next` of the page before.',
      schema: { type: 'string' },
    },
    orderRef: {
      in: 'path',
      required: true,
      description: 'The `orderRef` of the order, from the status of its signal.',
      schema: { type: 'string' },
    },
    'Idempotency-Key': {
      in: 'header',
      required: true,
      description:
        'Identifies the operation, so that a retry is deduplicated: use a new key for each operation, ' +
        'and the same key for its retries. Exactly one header, without control characters. Use ASCII: ' +
        'other characters at the ends are cut off, so that two keys could count as one.',
      schema: { type: 'string', minLength: 1, maxLength: limits.idempotencyKeyLengthMax },
    },
    platform: {
      in: 'query',
      required: true,
      description: 'Platform token of the terminal.',
      schema: { type: 'string', minLength: 1 },
    },
    instanceId: {
      in: 'query',
      required: true,
      description: 'Instance of the terminal; may be empty.',
      allowEmptyValue: true,
      schema: { type: 'string', maxLength: limits.streamInstanceIdLengthMax },
    },
    accountName: {
      in: 'query',
      required: true,
      description: 'Account of the terminal.',
      schema: { type: 'string', minLength: 1, maxLength: limits.streamAccountNameLengthMax },
    },
    'Last-Event-ID': {
      in: 'header',
      required: false,
      description: 'The id of the last event that you received. At most one header.',
      schema: { type: 'string', maxLength: limits.lastEventIdLengthMax },
    },
  } as const satisfies Record<string, Parameter & { readonly allowEmptyValue?: boolean }>;
}

export type ParameterName = keyof ReturnType<typeof documentParameters>;
