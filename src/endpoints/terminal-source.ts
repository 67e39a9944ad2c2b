/** Reads the three query parameters that name one exact terminal source. */
import type { Limits } from '../limits.js';
import type { SourceName } from '../model/source-name.js';

/** @returns undefined unless each parameter occurs exactly once, within its length. */
export function readTerminalSource(query: string, limits: Limits): SourceName | undefined {
  const parameters = new URLSearchParams(query);
  const [platform, instanceId, accountName] = ['platform', 'instanceId', 'accountName'].map(
    (name) => {
      const values = parameters.getAll(name);
      return values.length === 1 ? values[0] : undefined;
    },
  );
  if (platform === undefined || instanceId === undefined || accountName === undefined) {
    return undefined;
  }
  const isWithin =
    platform.length >= 1 &&
    instanceId.length <= limits.streamInstanceIdLengthMax &&
    accountName.length >= 1 &&
    accountName.length <= limits.streamAccountNameLengthMax;
  return isWithin ? { platform, instanceId, accountName } : undefined;
}
