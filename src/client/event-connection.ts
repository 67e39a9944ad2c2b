/**
 * Opens one connection to an event stream and returns its response or, for a stream, its text in chunks.
 * Reads on demand, so that a slow caller applies backpressure instead of filling memory. Closes a connection
 * that is silent for too long.
 */
import { answerText } from '../lib/answer-text.js';
import { errorText } from '../lib/error-text.js';
import { setPatientTimer } from '../lib/patient-timer.js';
import { answerBytesMax, readAnswer, type Answer } from './answer.js';
import type { ConnectionDeps, NoResponse } from './exchange.js';

/** Three keep-alive intervals of the gateway (15 s). */
const silenceMs = 45_000;

export interface EventConnection {
  readonly answered: 'stream';
  /** @returns the next chunk; undefined at the end of the stream or on an error. */
  read(): Promise<string | undefined>;
  close(): void;
}

export type OpenEvents = (
  path: string,
  lastEventId: string | undefined,
  abort: AbortSignal | undefined,
) => Promise<EventConnection | Answer | NoResponse>;

export function createOpenEvents(deps: ConnectionDeps): OpenEvents {
  const { apiKey, clock, timeoutMs } = deps;
  const withoutKey = (text: string): string => text.replaceAll(apiKey, '[API key]');

  return async function open(path, lastEventId, abort) {
    const stop = new AbortController();
    const close = (): void => {
      abort?.removeEventListener('abort', close);
      stop.abort();
    };
    abort?.addEventListener('abort', close);

    /** Closes the connection if `work` takes longer. */
    async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
      const timer = setPatientTimer(clock, limitMs, close);
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
        const bodyText = await within(timeoutMs, answerText(response, answerBytesMax));
        close();
        return readAnswer(response, bodyText, withoutKey, clock.now());
      }
      const chunks = response.body.pipeThrough(new TextDecoderStream()).getReader();
      return {
        answered: 'stream',
        async read() {
          // Drops chunks that are still buffered after `close`.
          if (stop.signal.aborted) return undefined;
          return within(silenceMs, chunks.read()).then(
            ({ value }) => value,
            () => undefined,
          );
        },
        close,
      };
    } catch (error) {
      close();
      const reason = withoutKey(errorText(error));
      return { answered: false, mayHaveBeenSent: false, reason };
    }
  };
}
