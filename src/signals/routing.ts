/**
 * Which terminals a signal goes to: one execution for each active source of the user whose platform
 * is among the tokens and whose instanceId matches, and one denied execution for a token that no
 * source serves.
 */
import type { Capability } from '../store/records.js';
import type { ReasonCode } from './reason-codes.js';

/** Names one terminal account of a user. */
export interface SourceName {
  readonly platform: string;
  readonly instanceId: string;
  readonly accountName: string;
}

export interface ActiveSource extends SourceName {
  readonly capabilities: readonly Capability[];
}

export interface Target {
  readonly platform: string;
  readonly instanceId: string | null;
  readonly accountName: string | null;
  /** Why it never leaves the gateway, or null when it may. */
  readonly deniedFor: ReasonCode | null;
}

/** `sources`: the user's active ones, in their lasting order. */
export function route(
  tokens: readonly string[],
  instanceId: string | null,
  sources: readonly ActiveSource[],
): Target[] {
  const targets: Target[] = [];
  for (const platform of tokens) {
    const before = targets.length;
    for (const source of sources) {
      if (source.platform !== platform) continue;
      if (instanceId !== null && source.instanceId !== instanceId) continue;
      targets.push({
        platform,
        instanceId: source.instanceId,
        accountName: source.accountName,
        deniedFor: source.capabilities.includes('submit') ? null : 'terminal_capability_missing',
      });
    }
    if (targets.length > before) continue;
    targets.push({ platform, instanceId, accountName: null, deniedFor: 'no_active_terminal' });
  }
  return targets;
}

/** One text for a source, equal for equal names only. */
export function sourceKey(name: SourceName): string {
  return JSON.stringify([name.platform, name.instanceId, name.accountName]);
}
