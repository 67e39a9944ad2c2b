/**
 * Collects the schemas of the document, from the code that validates requests and creates responses. Their
 * names are the type names in generated clients.
 */
import Type, { type TSchema } from 'typebox';
import { apiKeySchema } from '../auth/api-key-view.js';
import { keyRequestSchema } from '../auth/api-key-request.js';
import { keyLimitsRequestSchema, keyLimitsSchema } from '../auth/key-limits.js';
import { scope } from '../auth/scope-enum.js';
import { loginSchema } from '../auth/login-request.js';
import { createdKeySchema } from '../endpoints/create-key.js';
import { signalPageSchema } from '../endpoints/list-signals.js';
import { capability, sourceSchema, sourcesSchema } from '../endpoints/list-sources.js';
import { loginResultSchema } from '../endpoints/login.js';
import { acceptedSignalSchema } from '../endpoints/submit-signal.js';
import { oneOf, type OpenEnum } from '../lib/json-types.js';
import type { Limits } from '../limits.js';
import { commands } from '../plugins/commands.js';
import { requestedCancelSchema } from '../signals/cancel-acceptance.js';
import { cancelAfterRequestSchema, cancelAfterSchema } from '../signals/cancel-after.js';
import {
  cancelledOrderSchema,
  cancelledOrdersSchema,
  cancelOutcome,
} from '../signals/cancelled-orders.js';
import { envelopeSchema } from '../signals/envelope.js';
import { orderFilterSchema } from '../signals/order-filter.js';
import { pageFilters } from '../signals/signal-page.js';
import {
  cancelStatus,
  delivery,
  executionStatus,
  reasonCode,
  signalState,
} from '../signals/status-enums.js';
import {
  cancelSchema,
  executionSchema,
  fillSchema,
  nativeSchema,
  signalSchema,
} from '../signals/signal-view.js';
import {
  anyErrorSchema,
  errorCode,
  errorSchema,
  fieldErrorSchema,
  legacyErrorSchema,
} from './error-bodies.js';
import { eventSchemas, gapReason } from './event-schemas.js';
import { orderSchemas } from './order-schemas.js';

const otherCommand = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  description: 'The payload of a command that is not in the catalog, as the terminal documents it.',
});

/** The gateway takes any object as payload; terminals hold to the catalog, and so do generated types. */
function signalSchemaOf(limits: Limits) {
  const { properties, ...envelope } = envelopeSchema(limits);
  const payload = {
    anyOf: [
      orderSchemas.OrderSubmit,
      commands['position/close'],
      commands['account/flatten'],
      otherCommand,
    ],
    description:
      'The fields of the command: `order`/`submit` takes OrderSubmit, `position`/`close` PositionClose, ' +
      '`account`/`flatten` AccountFlatten. The terminal rejects fields that it does not know.',
  };
  return Type.Unsafe<object>({ ...envelope, properties: { ...properties, payload } });
}

const { side, timeInForce } = commands['order/submit'].properties;
const signalFilter = oneOf(pageFilters);

/** Enumerations of answers; the document has the known values of each as `Known…`. */
const openEnums = {
  SignalState: signalState,
  ExecutionStatus: executionStatus,
  CancelStatus: cancelStatus,
  ReasonCode: reasonCode,
  Delivery: delivery,
  CancelOutcome: cancelOutcome,
  Capability: capability,
  Scope: scope,
  ErrorCode: errorCode,
  GapReason: gapReason,
} as const satisfies Record<string, OpenEnum<string>>;

type OpenName = keyof typeof openEnums;

function enumerations() {
  const known = Object.entries(openEnums).map(([name, { anyOf }]) => [`Known${name}`, anyOf[0]]);
  return {
    Side: side,
    TimeInForce: timeInForce,
    SignalFilter: signalFilter,
    ...openEnums,
    ...(Object.fromEntries(known) as Record<`Known${OpenName}`, TSchema>),
  };
}

/** In the order of the document: requests, answers, errors, events. */
export function documentSchemas(limits: Limits) {
  return {
    LoginRequest: loginSchema,
    KeyRequest: keyRequestSchema(limits),
    SignalEnvelope: signalSchemaOf(limits),
    ...orderSchemas,
    PositionClose: commands['position/close'],
    AccountFlatten: commands['account/flatten'],
    OtherCommand: otherCommand,
    OrderFilter: orderFilterSchema,
    CancelAfterRequest: cancelAfterRequestSchema,
    KeyLimitsRequest: keyLimitsRequestSchema,
    LoginResult: loginResultSchema,
    ApiKey: apiKeySchema,
    KeyLimits: keyLimitsSchema,
    ApiKeyList: Type.Array(apiKeySchema),
    CreatedApiKey: createdKeySchema,
    AcceptedSignal: acceptedSignalSchema,
    SignalStatus: signalSchema,
    SignalPage: signalPageSchema,
    Execution: executionSchema,
    Fill: fillSchema,
    NativeState: nativeSchema,
    Cancel: cancelSchema,
    RequestedCancel: requestedCancelSchema,
    CancelledOrders: cancelledOrdersSchema,
    CancelledOrder: cancelledOrderSchema,
    CancelAfter: cancelAfterSchema,
    SourceList: sourcesSchema,
    Source: sourceSchema,
    ApiError: errorSchema,
    LegacyError: legacyErrorSchema,
    AnyError: anyErrorSchema,
    FieldError: fieldErrorSchema,
    ...enumerations(),
    ...eventSchemas(limits),
  } as const satisfies Record<string, TSchema>;
}

export type SchemaName = keyof ReturnType<typeof documentSchemas>;
