/**
 * Defines the two shapes of an error body, as `Exchange.fail` writes them; a proxy in front writes the first one.
 * Clients must accept unknown codes; the examples in the document list the codes of each response.
 */
import Type, { type Static } from 'typebox';
import { errors, type ErrorCode } from '../errors.js';
import { listOf, oneOf, openEnum } from '../lib/json-types.js';
import type { Envelope } from '../routes.js';
import { proxyErrors, type ProxyErrorCode } from './proxy-errors.js';

export type AnyErrorCode = ErrorCode | ProxyErrorCode;

export const errorCode = openEnum(
  oneOf([...Object.keys(errors), ...Object.keys(proxyErrors)] as AnyErrorCode[]),
  'What went wrong, as the gateway or a proxy in front of it names it.',
);

export const fieldErrorSchema = Type.Object({
  field: Type.String({
    description: 'The path of the field, or `$` for the whole body.',
    examples: ['ttlMs'],
  }),
  code: Type.String({
    description: 'The rule that the field violates.',
    examples: ['signal_expired'],
  }),
});

const message = Type.String({ description: 'A text for people, which may change.' });

export const errorSchema = Type.Object({
  error: Type.Object({
    code: errorCode,
    message,
    traceId: Type.String({
      description: 'Names the request in the log of the gateway or the proxy.',
    }),
    details: Type.Optional(listOf(fieldErrorSchema)),
  }),
  requestId: Type.Optional(Type.String()),
});

export const legacyErrorSchema = Type.Object({
  code: errorCode,
  message,
  errors: Type.Optional(listOf(fieldErrorSchema)),
});

/** For operations with the second shape, where a proxy in front may answer with the first. */
export const anyErrorSchema = Type.Unsafe<object>({ anyOf: [legacyErrorSchema, errorSchema] });

/** Errors with field errors, and an example of each. */
const fieldErrors: { readonly [C in ErrorCode]?: Static<typeof fieldErrorSchema> } = {
  invalid_signal: { field: 'ttlMs', code: 'signal_expired' },
  invalid_filter: { field: 'platform', code: 'unsupported_platform' },
  unknown_field: { field: 'expires', code: 'unknown_field' },
  risk_limit_exceeded: { field: 'payload.quantity', code: 'above_limit' },
  invalid_limits: { field: 'limits.maxOpenOrders', code: 'out_of_range' },
  validation_failed: { field: 'email', code: 'invalid_email' },
};

const exampleTraceId = '0af7651916cd43dd8448eb211c80319c';

type ErrorBodies = {
  readonly v1: Static<typeof errorSchema>;
  readonly legacy: Static<typeof legacyErrorSchema>;
};

const bodies: { readonly [E in Envelope]: (code: AnyErrorCode) => ErrorBodies[E] } = {
  v1: (code) => ({
    error: {
      code,
      message: messageOf(code),
      traceId: exampleTraceId,
      ...fieldsOf('details', code),
    },
  }),
  legacy: (code) => ({
    code,
    message: messageOf(code),
    ...fieldsOf('errors', code),
  }),
};

const allErrors = { ...errors, ...proxyErrors };

function messageOf(code: AnyErrorCode): string {
  return allErrors[code].message;
}

function fieldsOf(name: 'details' | 'errors', code: AnyErrorCode): object {
  const fault = (fieldErrors as Partial<Record<AnyErrorCode, object>>)[code];
  return fault === undefined ? {} : { [name]: [fault] };
}

export function exampleBody(envelope: Envelope, code: AnyErrorCode): ErrorBodies[Envelope] {
  return bodies[envelope](code);
}
