/**
 * How long this process may have been away from its sockets. A frame that came while the process was
 * busy, or not on a processor at all, is stamped late; the time since the last beat says how late.
 */
const beatMs = 4;

export interface Pulse {
  /** Milliseconds for which what is read now may have lain unread. */
  unreadMs(): number;
}

export function startPulse(): Pulse {
  let last = performance.now();
  let before = last;
  setInterval(() => {
    before = last;
    last = performance.now();
  }, beatMs).unref();
  // Sockets are read after the timers of the same turn: the beat just before may belong to it.
  return { unreadMs: () => Math.ceil(performance.now() - before) };
}
