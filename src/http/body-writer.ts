/**
 * Writes the body of a response with backpressure honoured: what the socket does not take stays here, up to a
 * bound, until the client reads on. A native `end` would buffer it without a bound, and again for each further
 * request that a client sends without reading. While a rest is left, the native server closes the connection on
 * the next request (native-notes/backpressure.md).
 */
import type { HttpResponse } from './uws.js';

/**
 * `ended`: the socket took all. `owed`: a rest waits until the client reads, and somebody has to hear when it leaves
 * instead. `unread`: the client does not read, so that the connection must be closed.
 */
export type Written = 'ended' | 'owed' | 'unread';

/** Ends the response with the body, now or as soon as the client reads. Call it in a cork. */
export function writeBody(
  res: HttpResponse,
  body: string | Uint8Array,
  unsentBytesMax: number,
): Written {
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
  if (isDone(res.tryEnd(body, length))) return 'ended';
  const sent = res.getWriteOffset();
  // Nothing was taken: the client has not read the answers before this one.
  if (sent === 0 || length - sent > unsentBytesMax) return 'unread';
  // A copy, so that the part that was sent can be freed, and what is shared can be used again.
  const rest = Buffer.from(Buffer.from(body as Uint8Array).subarray(sent));
  res.onWritable((offset) => {
    const [isTaken] = res.tryEnd(rest.subarray(offset - sent), length);
    return isTaken;
  });
  return 'owed';
}

function isDone([, done]: readonly [boolean, boolean]): boolean {
  return done;
}
