/**
 * The gateway cannot start, or a command not work, with what it was given: no bug, and no case for a
 * retry. The message tells the operator why, and what to do.
 */
export class StartRefused extends Error {
  override readonly name: string = 'StartRefused';
}

/** The data directory cannot be used as it is. */
export class StoreRefused extends StartRefused {
  override readonly name: string = 'StoreRefused';
}

/** The store has a format that a start takes over, and who opens it only looks. */
export class FormerFormat extends StoreRefused {
  override readonly name = 'FormerFormat';
}

/** The store is another version's, and may be well. */
export class OtherFormat extends StoreRefused {
  override readonly name = 'OtherFormat';
}

/** The disk has no room for what an open writes first; the store may be well. */
export class NoSpace extends StoreRefused {
  override readonly name = 'NoSpace';
}
