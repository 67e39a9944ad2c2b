/** Defines the options that every call of the bot client takes. */
export interface CallOptions {
  /** Aborts waits and attempts. A request that was sent may have taken effect; see the failure's kind. */
  readonly signal?: AbortSignal;
}
