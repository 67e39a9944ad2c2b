/**
 * Writes the body of a response with backpressure honoured: what the socket does not take stays here, up to a
 * bound, until the client reads on. A native `end` would buffer it without a bound, and again for each further
 * request that a client sends without reading. While a rest is left, the native server closes the connection on
 * the next request (native-notes/backpressure.md).
 */
import type { HttpResponse } from './uws.js';

/**
 * Ends the response with the body, now or as soon as the client reads. Call it in a cork.
 * @returns false if the client does not read, so that the connection must be closed.
 */
export function writeBody(res: HttpResponse, body: string, unsentBytesMax: number): boolean {
  const length = Buffer.byteLength(body);
  if (isDone(res.tryEnd(body, length))) return true;
  const sent = res.getWriteOffset();
  // Nothing was taken: the client has not read the answers before this one.
  if (sent === 0 || length - sent > unsentBytesMax) return false;
  // A copy, so that the part that was sent can be freed.
  const rest = Buffer.from(Buffer.from(body).subarray(sent));
  res.onWritable((offset) => {
    const [isTaken] = res.tryEnd(rest.subarray(offset - sent), length);
    return isTaken;
  });
  return true;
}

function isDone([, done]: readonly [boolean, boolean]): boolean {
  return done;
}
