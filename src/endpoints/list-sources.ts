/** GET /api/v1/terminal-events/sources: lists the sources that were seen within the heartbeat window. */
import Type, { type Static } from 'typebox';
import type { KeyEndpoint } from '../http/endpoint.js';
import { toIsoTime } from '../lib/clock.js';
import { isoTime, listOf, oneOf, openEnum } from '../lib/json-types.js';
import { capabilities } from '../model/records.js';
import type { Registry } from '../plugins/registry.js';

export const capability = openEnum(oneOf(capabilities), 'What a terminal can be asked for.');

export const sourceSchema = Type.Object({
  platform: Type.String(),
  instanceId: Type.String(),
  accountName: Type.String(),
  connected: Type.Boolean({ description: 'Whether the plugin of the terminal is connected now.' }),
  capabilities: listOf(capability),
  lastSeenAt: isoTime,
});

export const sourcesSchema = Type.Object({ sources: listOf(sourceSchema) });

export interface ListSourcesDeps {
  readonly registry: Pick<Registry, 'active'>;
}

export function createListSources({ registry }: ListSourcesDeps): KeyEndpoint {
  return (exchange, { user }) => {
    const sources = registry.active(user.userId).map((source): Static<typeof sourceSchema> => ({
      platform: source.platform,
      instanceId: source.instanceId,
      accountName: source.accountName,
      connected: source.connection !== undefined,
      capabilities: source.capabilities,
      lastSeenAt: toIsoTime(source.lastSeenAt),
    }));
    exchange.reply(200, JSON.stringify({ sources }));
  };
}
