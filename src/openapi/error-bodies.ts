/**
 * Defines the two shapes of an error body, as `Exchange.fail` writes them. `code` is not an enum, because
 * clients must accept unknown codes; the examples in the document list the codes of each response.
 */
import Type, { type Static } from 'typebox';
import { errors, type ErrorCode } from '../errors.js';
import { listOf } from '../lib/json-types.js';
import type { Envelope } from '../routes.js';

export const fieldErrorSchema = Type.Object({ field: Type.String(), code: Type.String() });

export const errorSchema = Type.Object({
  error: Type.Object({
    code: Type.String(),
    message: Type.String(),
    traceId: Type.String(),
    details: Type.Optional(listOf(fieldErrorSchema)),
  }),
  requestId: Type.Optional(Type.String()),
});

export const legacyErrorSchema = Type.Object({
  code: Type.String(),
  message: Type.String(),
  errors: Type.Optional(listOf(fieldErrorSchema)),
});

/** Errors with field errors, and an example of each. */
const fieldErrors: { readonly [C in ErrorCode]?: Static<typeof fieldErrorSchema> } = {
  invalid_signal: { field: 'ttlMs', code: 'signal_expired' },
  validation_failed: { field: 'email', code: 'invalid_email' },
};

export const exampleTraceId = '0af7651916cd43dd8448eb211c80319c';

type ErrorBodies = {
  readonly v1: Static<typeof errorSchema>;
  readonly legacy: Static<typeof legacyErrorSchema>;
};

const bodies: { readonly [E in Envelope]: (code: ErrorCode) => ErrorBodies[E] } = {
  v1: (code) => ({
    error: {
      code,
      message: errors[code].message,
      traceId: exampleTraceId,
      ...(fieldErrors[code] && { details: [fieldErrors[code]] }),
    },
  }),
  legacy: (code) => ({
    code,
    message: errors[code].message,
    ...(fieldErrors[code] && { errors: [fieldErrors[code]] }),
  }),
};

export function exampleBody(envelope: Envelope, code: ErrorCode): ErrorBodies[Envelope] {
  return bodies[envelope](code);
}
