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
  return tokens.flatMap((platform): Target[] => {
    const matching = sources.filter(
      (source) =>
        source.platform === platform && (instanceId === null || source.instanceId === instanceId),
    );
    if (matching.length === 0) {
      return [{ platform, instanceId, accountName: null, deniedFor: 'no_active_terminal' }];
    }
    return matching.map((source) => ({
      platform,
      instanceId: source.instanceId,
      accountName: source.accountName,
      deniedFor: source.capabilities.includes('submit') ? null : 'terminal_capability_missing',
    }));
  });
}

/** One text for a source, equal for equal names only. */
export function sourceKey(name: SourceName): string {
  return JSON.stringify([name.platform, name.instanceId, name.accountName]);
}
