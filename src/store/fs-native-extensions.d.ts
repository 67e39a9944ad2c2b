/** The part of the package that is used; it has no declarations of its own. */
declare module 'fs-native-extensions' {
  /** Exclusive lock of the whole open file, kept by the kernel until the file is closed. */
  export function tryLock(fd: number): boolean;
}
