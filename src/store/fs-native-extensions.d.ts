/** The part of the package that is used; it has no declarations of its own. */
declare module 'fs-native-extensions' {
  interface Kind {
    readonly shared?: boolean;
  }

  /** Locks a stretch of the open file, or all of it; the kernel keeps it until the file is closed. */
  export function tryLock(fd: number, offset?: number, length?: number, kind?: Kind): boolean;
  /** As `tryLock`, on a thread of the pool that waits as long as it takes. */
  export function waitForLock(
    fd: number,
    offset: number,
    length: number,
    kind?: Kind,
  ): Promise<void>;
  export function unlock(fd: number, offset: number, length: number): void;
}
