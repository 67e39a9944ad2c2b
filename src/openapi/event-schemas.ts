/**
 * The events of a stream. An event's `data` line is JSON of one shape for all kinds; what the kind
 * adds stands in its own `data`. Every field of a kind may be absent or null, and terminals may say
 * more than these.
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
      { description: 'The lines of one event by their names; `data` is JSON text.' },
    ),
    TerminalEvent: terminalEvent,
    ReplayGap: replayGap,
    ...kinds,
  };
}

/** What the gateway says under two of the names is more than terminals may. */
const gatewayData: { readonly [N in PluginEventName]?: TSchema } = {
  command_result: executionSchema,
  cancel_update: cancelSchema,
};

function kindSchema(name: PluginEventName): TSchema {
  const fields: Readonly<Record<string, object>> = eventDataFields[name];
  const description = `\`data.data\` of the event \`${name}\`.`;
  const told = {
    type: 'object',
    additionalProperties: true,
    properties: Object.fromEntries(
      Object.entries(fields).map(([field, schema]) => [field, withNull(schema)]),
    ),
  };
  const own = gatewayData[name];
  return Type.Unsafe<object>(
    own === undefined ? { ...told, description } : { anyOf: [own, told], description },
  );
}

/** `nullable` is a word of OpenAPI 3.0 that 3.1 no longer knows. */
function withNull(schema: object & { nullable?: boolean }): object {
  const { nullable, ...rest } = schema;
  return nullable === true ? { anyOf: [rest, { type: 'null' }] } : rest;
}

function pascal(name: string): string {
  return name.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
