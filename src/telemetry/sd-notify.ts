/**
 * Calls `sd_notify` of libsystemd: systemd listens on a Unix datagram socket, which Node does not support. The
 * package koffi and the library are optional, and loaded only under systemd.
 */

/** Sends a state as `READY=1`. @returns whether it was sent. */
export type Notify = (state: string) => boolean;

/** Rejects when the package or the library is not installed. */
export async function loadSdNotify(): Promise<Notify> {
  const { default: koffi } = await import('koffi');
  const library = koffi.load('libsystemd.so.0');
  const sdNotify = library.func('int sd_notify(int unset_environment, const char *state)') as (
    unsetEnvironment: number,
    state: string,
  ) => number;
  return (state) => sdNotify(0, state) > 0;
}
