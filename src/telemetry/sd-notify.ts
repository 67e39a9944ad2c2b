/**
 * The system's own `sd_notify`: systemd listens on a datagram socket, a kind that Node does not have,
 * so its library is called. Loaded only when something listens; the package and the library are
 * optional, and only a service of systemd needs them.
 */

/** Sends a state as `READY=1`. @returns whether it was sent. */
export type Notify = (state: string) => boolean;

/** Rejects when the package or the system's library is not there. */
export async function loadSdNotify(): Promise<Notify> {
  const { default: koffi } = await import('koffi');
  const library = koffi.load('libsystemd.so.0');
  const sdNotify = library.func('int sd_notify(int unset_environment, const char *state)') as (
    unsetEnvironment: number,
    state: string,
  ) => number;
  return (state) => sdNotify(0, state) > 0;
}
