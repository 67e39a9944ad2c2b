/** The name of one terminal account of a user: a source of events, and the target of executions. */
export interface SourceName {
  readonly platform: string;
  readonly instanceId: string;
  readonly accountName: string;
}

/** One text for a source, equal for equal names only. */
export function sourceKey(name: SourceName): string {
  return JSON.stringify([name.platform, name.instanceId, name.accountName]);
}
