/**
 * Defines the schemas of the event stream. The `data` line of an event is JSON with the same shape for all
 * kinds; the fields of the kind are in its inner `data`. Each of these may be absent or null, and terminals
 * may send others.
 */
import Type, { type TSchema } from 'typebox';
import { eventDataFields } from '../events/event-data.js';
import { eventNames, type PluginEventName, pluginEventNames } from '../events/event-names.js';
import { isoTime, oneOf, textOrNull } from '../lib/json-types.js';
import type { Limits } from '../limits.js';
import { cancelSchema, executionSchema } from '../signals/signal-view.js';

const cursor = Type.String({ pattern: '^[0-9a-f]{1,32}-(0|[1-9][0-9]{0,15})$' });

/** `order_update` → `OrderUpdate`. */
type Pascal<T extends string> = T extends `${infer A}_${infer B}`
  ? `${Capitalize<A>}${Pascal<B>}`
  : Capitalize<T>;

export function eventSchemas(limits: Pick<Limits, 'rawTextLengthMax'>) {
  const kinds = Object.fromEntries(
    pluginEventNames.map((name) => [pascal(name), kindSchema(name)]),
  ) as Record<Pascal<PluginEventName>, TSchema>;
  const terminalEvent = Type.Object({
    eventId: cursor,
    occurredAt: isoTime,
    receivedAt: isoTime,
    platform: Type.String(),
    instanceId: Type.String(),
    accountName: Type.String(),
    requestId: textOrNull,
    signalId: textOrNull,
    executionId: textOrNull,
    orderRef: textOrNull,
    rawText: Type.Unsafe<string | null>({
      anyOf: [{ type: 'string', maxLength: limits.rawTextLengthMax }, { type: 'null' }],
    }),
    rawTextTruncated: Type.Boolean(),
    data: Type.Unsafe<object>({ anyOf: Object.values(kinds) }),
  });
  const replayGap = Type.Object({ reason: oneOf(['cursor_not_available']) });
  return {
    ServerSentEvent: Type.Object(
      {
        id: cursor,
        event: oneOf(eventNames),
        data: Type.Unsafe<object>({ anyOf: [terminalEvent, replayGap] }),
      },
      { description: 'The fields of one server-sent event; `data` is JSON text.' },
    ),
    TerminalEvent: terminalEvent,
    ReplayGap: replayGap,
    ...kinds,
  };
}

/** The gateway itself sends two of the kinds with more fields than terminals do. */
const gatewayData: { readonly [N in PluginEventName]?: TSchema } = {
  command_result: executionSchema,
  cancel_update: cancelSchema,
};

function kindSchema(name: PluginEventName): TSchema {
  const fields: Readonly<Record<string, object>> = eventDataFields[name];
  const description = `\`data.data\` of the event \`${name}\`.`;
  const terminalData = {
    type: 'object',
    additionalProperties: true,
    properties: Object.fromEntries(
      Object.entries(fields).map(([field, schema]) => [field, withNull(schema)]),
    ),
  };
  const own = gatewayData[name];
  return Type.Unsafe<object>(
    own === undefined
      ? { ...terminalData, description }
      : { anyOf: [own, terminalData], description },
  );
}

/** Converts `nullable` of OpenAPI 3.0, which 3.1 does not support. */
function withNull(schema: object & { nullable?: boolean }): object {
  const { nullable, ...rest } = schema;
  return nullable === true ? { anyOf: [rest, { type: 'null' }] } : rest;
}

function pascal(name: string): string {
  return name.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
