/** The parameters of the operations, in path, query and header, within the limits in force. */
import type { Limits } from '../limits.js';

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
      description: 'What the acceptance of the signal gave.',
      schema: { type: 'string' },
    },
    orderRef: {
      in: 'path',
      required: true,
      description: 'Names the order; it is in the status of its signal.',
      schema: { type: 'string' },
    },
    'Idempotency-Key': {
      in: 'header',
      required: true,
      description:
        'Names the operation, so that a retry is known as one: a new one for each operation, the ' +
        'same for every retry. Exactly one header, without control characters.',
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
      description: 'The id of the last event that was read, at most once.',
      schema: { type: 'string', maxLength: limits.lastEventIdLengthMax },
    },
  } as const satisfies Record<string, Parameter & { readonly allowEmptyValue?: boolean }>;
}

export type ParameterName = keyof ReturnType<typeof documentParameters>;
