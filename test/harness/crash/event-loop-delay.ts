/**
 * An upper bound on how long a frame may have waited unread in a socket of this process. A frame that
 * arrives while the event loop is blocked gets its timestamp late, by at most the time since the
 * last tick of a timer.
 */
const tickMs = 4;

export interface EventLoopDelay {
  /** Milliseconds that a frame read now may have waited. */
  unreadMs(): number;
}

export function watchEventLoopDelay(): EventLoopDelay {
  let last = performance.now();
  let before = last;
  setInterval(() => {
    before = last;
    last = performance.now();
  }, tickMs).unref();
  // Sockets are read after the timers of the same turn: the last tick may belong to this turn.
  return { unreadMs: () => Math.ceil(performance.now() - before) };
}
