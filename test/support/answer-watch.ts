/**
 * Holds every answer that a test gets from a gateway's API port against the API's document. It wraps the process's
 * `fetch`, which the bot client uses; other clients pass their answers to it. An answer that does not match is
 * replaced by an error.
 */
import { nextTurn } from '../../src/lib/turn.js';
import { noteMismatch } from './mismatches.js';
import { mismatchOf, mismatchOfEvent, mismatchOfRequest, type SeenAnswer } from './answer-judge.js';

const apiPorts = new Set<string>();
const plainFetch = globalThis.fetch;

/** Judges answers of this gateway from now on. @returns ends that, since another server may get its port. */
export function watchAnswersOf(url: string): () => void {
  const { port } = new URL(url);
  apiPorts.add(port);
  globalThis.fetch = watchingFetch;
  return () => apiPorts.delete(port);
}

export function watchAnswer(url: string, answer: SeenAnswer): void {
  if (apiPorts.has(new URL(url).port)) judge(answer);
}

export function watchEvent(name: string, data: unknown): void {
  const mismatch = mismatchOfEvent(name, data);
  if (mismatch !== undefined) noteMismatch(mismatch);
}

const watchingFetch: typeof fetch = async (input, init) => {
  const { port, pathname, search } = new URL(input instanceof Request ? input.url : input);
  const isWatched = apiPorts.has(port);
  // A command may just have held up this process for longer than the gateway keeps an idle connection: the
  // close is noticed in this turn, before a request is lost on the connection.
  await nextTurn();
  const response = await plainFetch(input, init);
  if (!isWatched) return response;
  const method = init?.method ?? (input instanceof Request ? input.method : 'GET');
  const request = { method, path: pathname + search };
  const { status, headers } = response;
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
  let text: string | undefined;
  try {
    text = isStream || method === 'HEAD' ? undefined : await response.clone().text();
  } catch {
    // Cut or aborted: the reader of the answer itself gets the error.
    return response;
  }
  const header = (name: string): string | null => headers.get(name);
  const requestBody = typeof init?.body === 'string' ? init.body : undefined;
  judge({ request, status, header, headerNames: headers.keys(), text, requestBody });
  return response;
};

function judge(answer: SeenAnswer): void {
  const { request, status, requestBody } = answer;
  complain(mismatchOf(answer));
  if (request === undefined || requestBody === undefined || status >= 300) return;
  complain(mismatchOfRequest(request, requestBody));
}

function complain(mismatch: string | undefined): void {
  if (mismatch !== undefined) throw noteMismatch(mismatch);
}
