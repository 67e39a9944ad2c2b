/**
 * Collects the schemas of the document, from the code that validates requests and creates responses. Their
 * names are the type names in generated clients.
 */
import Type, { type TSchema } from 'typebox';
import { apiKeySchema } from '../auth/api-key-view.js';
import { keyRequestSchema } from '../auth/api-key-request.js';
import { loginSchema } from '../auth/login-request.js';
import { createdKeySchema } from '../endpoints/create-key.js';
import { sourceSchema, sourcesSchema } from '../endpoints/list-sources.js';
import { loginResultSchema } from '../endpoints/login.js';
import { acceptedSignalSchema } from '../endpoints/submit-signal.js';
import type { Limits } from '../limits.js';
import { requestedCancelSchema } from '../signals/cancel-acceptance.js';
import { envelopeSchema } from '../signals/envelope.js';
import {
  cancelSchema,
  executionSchema,
  fillSchema,
  nativeSchema,
  signalSchema,
} from '../signals/signal-view.js';
import { errorSchema, fieldErrorSchema, legacyErrorSchema } from './error-bodies.js';
import { eventSchemas } from './event-schemas.js';

/** In the order of the document: requests, answers, errors, events. */
export function documentSchemas(limits: Limits) {
  return {
    LoginRequest: loginSchema,
    KeyRequest: keyRequestSchema(limits),
    SignalEnvelope: envelopeSchema(limits),
    LoginResult: loginResultSchema,
    ApiKey: apiKeySchema,
    ApiKeyList: Type.Array(apiKeySchema),
    CreatedApiKey: createdKeySchema,
    AcceptedSignal: acceptedSignalSchema,
    SignalStatus: signalSchema,
    Execution: executionSchema,
    Fill: fillSchema,
    NativeState: nativeSchema,
    Cancel: cancelSchema,
    RequestedCancel: requestedCancelSchema,
    SourceList: sourcesSchema,
    Source: sourceSchema,
    Error: errorSchema,
    LegacyError: legacyErrorSchema,
    FieldError: fieldErrorSchema,
    ...eventSchemas(limits),
  } as const satisfies Record<string, TSchema>;
}

export type SchemaName = keyof ReturnType<typeof documentSchemas>;
