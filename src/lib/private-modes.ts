/** Modes of files and directories that only their owner can open. */
export const privateFileMode = 0o600;
export const privateDirectoryMode = 0o700;
