/** One conversation that a hostile client begins: what it sends, in which pieces, and how it leaves. */
export interface Input {
  /** Family and form, such as `framing: two hosts`. */
  readonly name: string;
  /** A byte a character; each is written for itself. */
  readonly pieces: readonly string[];
  /**
   * Nothing about its HTTP is unusual, so that every request gets the answer that the API promises.
   * Where it is false, the gateway may refuse and close instead.
   */
  readonly isPlain: boolean;
  /** `leave`: ends its half once it has its answers. The others do not wait for any. */
  readonly ending: 'leave' | 'half-close' | 'reset';
}
