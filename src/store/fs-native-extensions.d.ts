/** The part of the package that is used; it has no declarations of its own. */
declare module 'fs-native-extensions' {
  /** Locks all of the open file; the kernel keeps the lock until the file is closed. */
  export function tryLock(fd: number): boolean;
}
