/**
 * One input of a hostile client: the bytes, how they are split, and how the client ends the connection.
 */
export interface Input {
  /** Family and form, such as `framing: two hosts`. */
  readonly name: string;
  /** Latin1; each piece is one write. */
  readonly pieces: readonly string[];
  /**
   * The HTTP is valid and usual: every request gets the answer that the API promises. If false, the
   * gateway may instead refuse a request and close the connection.
   */
  readonly isPlain: boolean;
  /** `leave` half-closes after its answers; the others do not wait for answers. */
  readonly ending: 'leave' | 'half-close' | 'reset';
}
