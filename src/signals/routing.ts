/**
 * Routes a signal to terminals: one target for each active source of the user whose platform is among the
 * tokens and whose instanceId and accountName match, and one denied target for each token without such a
 * source. One more denied target stands for all that are beyond the limit.
 */
import type { Capability } from '../model/records.js';
import type { SourceName } from '../model/source-name.js';
import type { ReasonCode } from '../model/reason-codes.js';

export interface ActiveSource extends SourceName {
  /** As `sourceKey` gives it. */
  readonly key: string;
  readonly capabilities: readonly Capability[];
}

export interface Target {
  readonly platform: string;
  readonly instanceId: string | null;
  readonly accountName: string | null;
  /** Undefined where routing found no terminal. */
  readonly sourceKey: string | undefined;
  /** Why it is not sent; null when it may be. */
  readonly deniedFor: ReasonCode | null;
}

/**
 * @param sources the user's active sources, in a stable order.
 * @param max how many targets a signal may have; one more, denied, names the first platform that is cut.
 */
export function route(
  tokens: readonly string[],
  instanceId: string | null,
  accountName: string | null,
  sources: readonly ActiveSource[],
  max: number,
): Target[] {
  const targets: Target[] = [];
  for (const platform of tokens) {
    const before = targets.length;
    for (const source of sources) {
      if (source.platform !== platform) continue;
      if (instanceId !== null && source.instanceId !== instanceId) continue;
      if (accountName !== null && source.accountName !== accountName) continue;
      if (targets.length === max) return [...targets, tooMany(platform)];
      targets.push({
        platform,
        instanceId: source.instanceId,
        accountName: source.accountName,
        sourceKey: source.key,
        deniedFor: source.capabilities.includes('submit') ? null : 'terminal_capability_missing',
      });
    }
    if (targets.length > before) continue;
    if (targets.length === max) return [...targets, tooMany(platform)];
    targets.push({ ...nowhere, platform, instanceId, deniedFor: 'no_active_terminal' });
  }
  return targets;
}

const nowhere = { instanceId: null, accountName: null, sourceKey: undefined };

function tooMany(platform: string): Target {
  return { ...nowhere, platform, deniedFor: 'too_many_executions' };
}
