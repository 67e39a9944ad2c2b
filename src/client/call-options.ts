/** Defines the options that the calls of the bot client share. */
export interface CallOptions {
  /** Aborts waits and attempts. A request that was sent may have taken effect; see the failure's kind. */
  readonly signal?: AbortSignal;
}

export interface PrepareOptions {
  /** Visible ASCII, inner spaces allowed; unique per operation. Default: a ULID. */
  readonly idempotencyKey?: string;
}

export interface SendOptions extends CallOptions {
  /** True if an earlier run may have sent it: failures are `unknown` unless the gateway's response settles it. */
  readonly resumed?: boolean;
}
