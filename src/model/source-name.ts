/** The name of one terminal account of a user: a source of events, and the target of executions. */
export interface SourceName {
  readonly platform: string;
  readonly instanceId: string;
  readonly accountName: string;
}

/** One text for a source, equal for equal names only. */
export function sourceKey({ platform, instanceId, accountName }: SourceName): string {
  return JSON.stringify([platform, instanceId, accountName]);
}

/** As `sourceKey`, for an execution or a target. @returns undefined where no terminal was found. */
export function targetKey({
  platform,
  instanceId,
  accountName,
}: {
  readonly [part in keyof SourceName]: string | null;
}): string | undefined {
  if (platform === null || instanceId === null || accountName === null) return undefined;
  return sourceKey({ platform, instanceId, accountName });
}
