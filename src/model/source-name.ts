/** Defines the name of a terminal account: a source of events and a target of executions. */
export interface SourceName {
  /** A platform token, such as `terminal_a`. */
  readonly platform: string;
  /** Up to 128 characters; may be empty. */
  readonly instanceId: string;
  /** 1 to 128 characters; `<ACCOUNT_LOGIN>@<ACCOUNT_SERVER>` in the second terminal family. */
  readonly accountName: string;
}

/** Longest instanceId and longest accountName of a terminal, in UTF-16 code units. */
export const sourceNameLengthMax = 128;

/** @returns the name alone. */
export function nameOf({ platform, instanceId, accountName }: SourceName): SourceName {
  return { platform, instanceId, accountName };
}

/** @returns a map key, unique per source of a user: the lengths of two parts tell where each part ends. */
export function sourceKey({ platform, instanceId, accountName }: SourceName): string {
  return `${platform.length} ${instanceId.length} ${platform}${instanceId}${accountName}`;
}

/** As `sourceKey`, for an execution or a target. @returns undefined when routing found no terminal. */
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
