/**
 * Calls `sd_notify` of libsystemd: systemd listens on a Unix datagram socket, which Node does not support. The
 * package koffi and the library are optional, and loaded only under systemd.
 */

/** Sends a state as `READY=1`. @returns whether it was sent, once systemd has room for it. */
export type Notify = (state: string) => Promise<boolean>;

/** Rejects when the package or the library is not installed. */
export async function loadSdNotify(): Promise<Notify> {
  const { default: koffi } = await import('koffi');
  const library = koffi.load('libsystemd.so.0');
  const sdNotify = library.func('int sd_notify(int unset_environment, const char *state)');
  return (state) =>
    new Promise((resolve) => {
      // In a thread, since the call blocks until a busy systemd has read the earlier messages.
      sdNotify.async(0, state, (error: unknown, sent: number) =>
        resolve(error === null && sent > 0),
      );
    });
}
