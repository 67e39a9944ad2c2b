/** Modes of files and directories that only their owner can open. */
export const privateFileMode = 0o600;
export const privateDirectoryMode = 0o700;
/** The bits of a mode that let others in. */
export const othersMask = 0o077;
