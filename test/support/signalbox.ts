import { fileURLToPath } from 'node:url';

/** The path of the command as it is installed: its modules joined in a few files. */
export const signalbox = fileURLToPath(new URL('../../bin/signalbox.js', import.meta.url));
