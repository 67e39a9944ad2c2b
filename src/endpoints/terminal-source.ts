/** Reads the three query parameters that name one exact terminal source. */
import type { Limits } from '../limits.js';
import type { SourceName } from '../model/source-name.js';
import { readQuery } from './query.js';

const names = ['platform', 'instanceId', 'accountName'] as const;

/** @returns undefined unless each parameter occurs exactly once, within its length. */
export function readTerminalSource(query: string, limits: Limits): SourceName | undefined {
  const { platform, instanceId, accountName } = readQuery(query, names);
  if (platform == null || instanceId == null || accountName == null) return undefined;
  const isWithin =
    platform.length >= 1 &&
    instanceId.length <= limits.streamInstanceIdLengthMax &&
    accountName.length >= 1 &&
    accountName.length <= limits.streamAccountNameLengthMax;
  return isWithin ? { platform, instanceId, accountName } : undefined;
}
