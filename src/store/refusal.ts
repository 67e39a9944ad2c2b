/**
 * The gateway cannot start, or a command cannot run, with what it was given: not a bug, and a retry does not
 * help. The message tells the operator why, and what to do.
 */
export class StartRefused extends Error {
  override readonly name: string = 'StartRefused';
}

/** The data directory cannot be used as it is. */
export class StoreRefused extends StartRefused {
  override readonly name: string = 'StoreRefused';
}

/** The store has an earlier format, which a start converts, and was opened only to be read. */
export class FormerFormat extends StoreRefused {
  override readonly name = 'FormerFormat';
}

/** The store was written by another version, and may be intact. */
export class OtherFormat extends StoreRefused {
  override readonly name = 'OtherFormat';
}

/** The disk has no room for what an open writes first; the store may be intact. */
export class NoSpace extends StoreRefused {
  override readonly name = 'NoSpace';
}
