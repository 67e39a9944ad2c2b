/** The path of the command as it is installed: its modules joined in a few files. */
export const signalbox = new URL('../../bin/signalbox.js', import.meta.url).pathname;
