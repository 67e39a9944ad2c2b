/** Defines the list of a user's active terminals. Source: section 3 of the contract. */
import { field, text } from './json-fields.js';

/** Identifies one terminal account, the source of a stream. */
export interface SourceName {
  /** A platform token, such as `terminal_a`. */
  readonly platform: string;
  /** Up to 128 characters; may be empty. */
  readonly instanceId: string;
  /** 1 to 128 characters; `<ACCOUNT_LOGIN>@<ACCOUNT_SERVER>` in the second terminal family. */
  readonly accountName: string;
}

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
