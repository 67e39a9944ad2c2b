/**
 * Defines the schemas of the event stream. The `data` line of an event is JSON with the same shape for all
 * kinds; the fields of the kind are in its inner `data`. Each of these may be absent or null, and terminals
 * may send others.
 */
import Type, { type TSchema } from 'typebox';
import { eventDataFields } from '../events/event-data.js';
import { type PluginEventName, pluginEventNames } from '../events/event-names.js';
import { described, isoTime, oneOf, openEnum, orNull, textOrNull } from '../lib/json-types.js';
import type { Limits } from '../limits.js';
import { cancelSchema, executionSchema } from '../signals/signal-view.js';

const cursor = Type.String({
  pattern: '^[0-9a-f]{1,32}-(0|[1-9][0-9]{0,15})$',
  description: 'Send it as `Last-Event-ID` to continue the stream after this event.',
});

export const gapReason = openEnum(oneOf(['cursor_not_available']), 'Why events were not replayed.');

/** `order_update` → `OrderUpdate`. */
type Pascal<T extends string> = T extends `${infer A}_${infer B}`
  ? `${Capitalize<A>}${Pascal<B>}`
  : Capitalize<T>;

type KindName = Pascal<PluginEventName>;

export function eventSchemas(limits: Pick<Limits, 'rawTextLengthMax'>) {
  const kinds = Object.fromEntries(
    pluginEventNames.map((name) => [pascal(name), kindSchema(name)]),
  ) as Record<KindName, TSchema>;
  const events = Object.fromEntries(
    pluginEventNames.map((name) => [`${pascal(name)}Event`, eventSchema(name)]),
  ) as Record<`${KindName}Event`, TSchema>;
  const terminalEvent = Type.Unsafe<object>({
    oneOf: Object.values(events),
    discriminator: {
      propertyName: 'event',
      mapping: Object.fromEntries(
        pluginEventNames.map((name) => [name, `#/components/schemas/${pascal(name)}Event`]),
      ),
    },
    description: '`event` names the kind of the event. Ignore kinds that you do not know.',
  });
  const replayGap = Type.Object(
    { reason: gapReason },
    {
      description:
        'The `data` of the event `replay_gap`: the stream may lack events before this one.',
    },
  );
  return {
    StreamEvent: Type.Unsafe<object>({
      anyOf: [terminalEvent, replayGap],
      description: 'The `data` of one server-sent event, which is JSON text.',
    }),
    TerminalEvent: terminalEvent,
    ReplayGap: replayGap,
    ...events,
    ...kinds,
  };

  function eventSchema(name: PluginEventName): TSchema {
    return Type.Object({
      eventId: cursor,
      event: Type.Unsafe<PluginEventName>({ type: 'string', const: name }),
      occurredAt: described(isoTime, 'When it happened, by the clock of the terminal.'),
      receivedAt: described(isoTime, 'When the gateway received it, by the clock of the gateway.'),
      platform: Type.String(),
      instanceId: Type.String(),
      accountName: Type.String(),
      requestId: textOrNull,
      signalId: textOrNull,
      executionId: textOrNull,
      orderRef: textOrNull,
      rawText: described(
        orNull(Type.String({ maxLength: limits.rawTextLengthMax })),
        'What the terminal itself wrote.',
      ),
      rawTextTruncated: Type.Boolean(),
      data: kinds[pascal(name)],
    });
  }
}

/** The gateway itself sends two of the kinds with more fields than terminals do. */
const gatewayData: { readonly [N in PluginEventName]?: TSchema } = {
  command_result: executionSchema,
  cancel_update: cancelSchema,
};

function kindSchema(name: PluginEventName): TSchema {
  const fields = eventDataFields[name] as unknown as Readonly<Record<string, NullableSchema>>;
  const description = `The \`data\` in an event \`${name}\`.`;
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

interface NullableSchema {
  readonly type: string;
  readonly nullable?: boolean;
}

/** Converts `nullable` of OpenAPI 3.0, which 3.1 does not support. */
function withNull({ nullable, type, ...rest }: NullableSchema): object {
  return nullable === true ? { ...rest, type: [type, 'null'] } : { ...rest, type };
}

function pascal<N extends PluginEventName>(name: N): Pascal<N> {
  return name.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase()) as Pascal<N>;
}
