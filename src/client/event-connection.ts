/**
 * One connection to a stream of events: the gateway's answer to the request, and if it is a stream,
 * its text piece by piece. It reads only when it is asked to, so that a slow caller holds up the
 * sender instead of filling memory, and takes a silent connection for a dead one.
 */
import { errorText } from '../lib/error-text.js';
import type { Clock } from '../lib/clock.js';
import { readAnswer, type Answer } from './answer.js';
import type { Silence } from './exchange.js';

/** The gateway sends a comment every 15 s; three missing ones are an end. */
const silenceMs = 45_000;

export interface EventConnection {
  readonly answered: 'stream';
  /** @returns undefined at the end of the stream, however it came. */
  read(): Promise<string | undefined>;
  close(): void;
}

export type OpenEvents = (
  path: string,
  lastEventId: string | undefined,
  abort: AbortSignal | undefined,
) => Promise<EventConnection | Answer | Silence>;

export function createOpenEvents(deps: {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly clock: Clock;
  readonly fetch: typeof globalThis.fetch;
  readonly timeoutMs: number;
}): OpenEvents {
  const { apiKey, clock, timeoutMs } = deps;
  const withoutKey = (words: string): string => words.replaceAll(apiKey, '[API key]');

  return async function open(path, lastEventId, abort) {
    const stop = new AbortController();
    const close = (): void => {
      abort?.removeEventListener('abort', close);
      stop.abort();
    };
    abort?.addEventListener('abort', close);

    /** Ends the connection when `work` takes longer. */
    async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
      const timer = clock.setTimer(limitMs, close);
      try {
        return await work;
      } finally {
        timer.cancel();
      }
    }

    try {
      const request = deps.fetch(deps.baseUrl + path, {
        headers: {
          Authorization: `Bearer ${apiKey}`,
          Accept: 'text/event-stream',
          ...(lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId }),
        },
        redirect: 'manual',
        signal: stop.signal,
      });
      const response = await within(timeoutMs, request);
      if (response.status !== 200 || response.body === null) {
        const words = await within(timeoutMs, response.text());
        close();
        return readAnswer(response, words, withoutKey, clock.now());
      }
      const pieces = response.body.pipeThrough(new TextDecoderStream()).getReader();
      return {
        answered: 'stream',
        async read() {
          // What a closed connection still holds is not wanted.
          if (stop.signal.aborted) return undefined;
          return within(silenceMs, pieces.read()).then(
            ({ value }) => value,
            () => undefined,
          );
        },
        close,
      };
    } catch (error) {
      close();
      const reason = withoutKey(errorText(error));
      return { answered: false, mayHaveLeft: false, reason };
    }
  };
}
