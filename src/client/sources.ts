/** Defines the list of a user's active terminals. Source: section 3 of the contract. */
import type { SourceName } from '../model/source-name.js';
import { field, text } from './json-fields.js';

export type { SourceName };

export interface TerminalSource extends SourceName {
  readonly connected: boolean;
  /** `submit`, `cancel`, `snapshot`; later versions may add others. */
  readonly capabilities: readonly string[];
  /** ISO 8601 UTC. */
  readonly lastSeenAt: string;
}

/** The three parameters that name a source. */
export function sourceQuery({ platform, instanceId, accountName }: SourceName): string {
  return new URLSearchParams({ platform, instanceId, accountName }).toString();
}

/** @returns undefined when the body is not a list of sources. */
export function readSources(body: unknown): readonly TerminalSource[] | undefined {
  const sources = field(body, 'sources');
  return Array.isArray(sources) && sources.every(isSource) ? sources : undefined;
}

function isSource(value: unknown): value is TerminalSource {
  return (
    text(field(value, 'platform')) !== undefined &&
    text(field(value, 'instanceId')) !== undefined &&
    text(field(value, 'accountName')) !== undefined &&
    text(field(value, 'lastSeenAt')) !== undefined &&
    typeof field(value, 'connected') === 'boolean' &&
    Array.isArray(field(value, 'capabilities'))
  );
}
