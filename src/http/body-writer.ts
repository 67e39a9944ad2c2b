/**
 * Writes the body of a response and honours backpressure: what the socket does not take stays here until the
 * client reads on. A native `end` would buffer it, for every request that a client sends without reading.
 * While a rest is left, the native server closes the connection at its next request, or when the client takes
 * nothing for ten seconds (native-notes/backpressure.md).
 */
import type { Clock, Timer } from '../lib/clock.js';
import { setPatientTimer } from '../lib/patient-timer.js';
import type { HttpResponse } from './uws.js';

/** How long a client may take nothing while more than `unsentBytesMax` waits for it. */
export const unsentMsMax = 5_000;

export interface UnsentBounds {
  readonly clock: Clock;
  /** Bytes of an answer that may wait for a client that does not read. */
  readonly unsentBytesMax: number;
  /** Holds each answer of which a part waits for its client, so that a stop can wait for them. */
  readonly owed: Set<OwedBody>;
}

/** The part of a body that waits until the client reads. */
export interface OwedBody {
  /** Call it when the client has left. */
  drop(): void;
}

/**
 * Ends the response with the body, now or as soon as the client reads. Call it in a cork.
 * @returns undefined if the socket took all.
 */
export function writeBody(
  res: HttpResponse,
  body: string | Uint8Array,
  { clock, unsentBytesMax, owed }: UnsentBounds,
): OwedBody | undefined {
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
  if (isDone(res.tryEnd(body, length))) return undefined;
  // Over TLS, 0 until everything is sent: OpenSSL remembers how far it came, and must be given the same bytes again.
  const sent = res.getWriteOffset();
  // A copy: the part that was sent can be freed, and the caller may use its bytes again.
  const rest = Buffer.from(Buffer.from(body as Uint8Array).subarray(sent));
  const patience = (unsent: number): Timer | undefined =>
    unsent > unsentBytesMax ? setPatientTimer(clock, unsentMsMax, () => res.close()) : undefined;
  let timer = patience(rest.length);
  const owing: OwedBody = {
    drop() {
      timer?.cancel();
      owed.delete(owing);
    },
  };
  owed.add(owing);
  res.onWritable((offset) => {
    timer?.cancel();
    const isTaken = isDone(res.tryEnd(rest.subarray(offset - sent), length));
    if (isTaken) owing.drop();
    else timer = patience(length - res.getWriteOffset());
    return isTaken;
  });
  return owing;
}

function isDone([, done]: readonly [boolean, boolean]): boolean {
  return done;
}
