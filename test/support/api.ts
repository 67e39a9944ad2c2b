/**
 * Plain requests to a gateway, as a bot or a user makes them, with nothing hidden. Without `fetch`, which takes
 * several times the processor time of `node:http`.
 */
import { Agent, request, type IncomingMessage } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { nextTurn } from '../../src/lib/turn.js';
import { scopes } from '../../src/model/scopes.js';
import { watchAnswer } from './answer-watch.js';
import { until } from './eventually.js';
import { password } from './gateway-process.js';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; undefined when it is none. */
  readonly body: any;
}

interface CallOptions {
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
}

export async function call(
  url: string,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Answer> {
  // A command may just have held up this process for longer than the gateway keeps an idle connection: the
  // close is noticed in this turn, before a request is lost on the connection.
  await nextTurn();
  const { response, text } = await exchange(url + path, method, options);
  const status = response.statusCode as number;
  const headers = headersOf(response);
  watchAnswer(url, {
    request: { method, path },
    status,
    header: (name) => headers.get(name),
    headerNames: headers.keys(),
    text: method === 'HEAD' ? undefined : text,
    requestBody: typeof options.body === 'string' ? options.body : undefined,
  });
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  return { status, headers, text, body };
}

/**
 * Closes idle connections before the gateway does so, after eight seconds and more. The gateway's time runs while an
 * answer waits for this process on a busy machine, so a request could cross its close.
 */
const agent = new Agent({ keepAlive: true, timeout: 1_000 });

/** Rejects as `fetch` does when it is aborted: with the reason. */
async function exchange(
  url: string,
  method: string,
  options: CallOptions,
): Promise<{ response: IncomingMessage; text: string }> {
  try {
    const response = await responseOf(url, method, options);
    return { response, text: await textOf(response) };
  } catch (error) {
    throw options.signal?.aborted === true ? options.signal.reason : error;
  }
}

/** @returns the answer's head, with the body to be read. */
function responseOf(
  url: string,
  method: string,
  { headers, body, signal }: CallOptions,
): Promise<IncomingMessage> {
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    request(url, { agent, method, headers: { ...length, ...headers }, signal }, resolve)
      .on('error', reject)
      .end(body);
  });
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    headers.append(rawHeaders[at] as string, rawHeaders[at + 1] as string);
  }
  return headers;
}

export const json = { 'content-type': 'application/json' };

export function bearer(token: string): { authorization: string } {
  return { authorization: `Bearer ${token}` };
}

/** Codes of what the gateway answers while the disk hangs, and that another try will settle. */
export const answersOfHangingDisk = [
  'storage_unavailable',
  'signal_processing_failed',
  'request_in_progress',
  'change_not_confirmed',
];

/**
 * Asks again while the disk hangs, as on a busy machine, and the gateway refuses the change or does not know its outcome.
 * @param ask sends the same Idempotency-Key each time, if any.
 */
export function patiently(ask: () => Promise<Answer>): Promise<Answer> {
  return until(ask, (answer) => !answersOfHangingDisk.includes(codeOf(answer)));
}

export async function login(
  url: string,
  email: string,
): Promise<{ token: string; sessionToken: string }> {
  const answer = await patiently(() => post(url, '/api/auth/login', { email, password }));
  if (answer.status !== 200) throw new Error(`login: ${answer.status} ${answer.text}`);
  return answer.body;
}

/** @returns the secret and the id of a new key. */
export async function createKey(
  url: string,
  token: string,
  fields: object = {},
): Promise<{ key: string; id: number }> {
  const body = { name: 'test', scopes, ...fields };
  const answer = await patiently(() => post(url, '/api/api-keys', body, token));
  if (answer.status !== 201) throw new Error(`create key: ${answer.status} ${answer.text}`);
  return answer.body;
}

let signals = 0;

/** A valid signal: a market order to the first family, valid for a minute from now. */
export function signal(fields: object = {}): Record<string, unknown> {
  return {
    v: 1,
    signalId: `signal-${process.pid}-${++signals}`,
    ts: Date.now(),
    ttlMs: 60_000,
    platform: 'terminal_a',
    type: 'order',
    cmd: 'submit',
    payload: { instrument: 'ES', side: 'buy', executionType: 'market', quantity: 1 },
    ...fields,
  };
}

/** Sends a signal once. For tests of a disk that hangs or fails, and of retries. */
export function submitOnce(
  url: string,
  key: string,
  body: object | string,
  idempotencyKey = `idem-${process.pid}-${++signals}`,
): Promise<Answer> {
  return call(url, 'POST', '/api/v1/signals', {
    headers: { ...json, ...bearer(key), 'idempotency-key': idempotencyKey },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

/** Sends a signal, and again with the same Idempotency-Key while the disk hangs, as a bot must. */
export function submit(
  url: string,
  key: string,
  body: object | string,
  idempotencyKey = `idem-${process.pid}-${++signals}`,
): Promise<Answer> {
  return patiently(() => submitOnce(url, key, body, idempotencyKey));
}

export function status(url: string, key: string, requestId: string): Promise<Answer> {
  return call(url, 'GET', `/api/v1/signals/${requestId}`, { headers: bearer(key) });
}

/** POST with a JSON body, and a bearer where one is given. */
export function post(
  url: string,
  path: string,
  body: unknown,
  token = '',
  headers: Record<string, string> = {},
): Promise<Answer> {
  return call(url, 'POST', path, {
    headers: { ...json, ...(token === '' ? {} : bearer(token)), ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
  });
}

export function get(url: string, path: string, token = ''): Promise<Answer> {
  return call(url, 'GET', path, { headers: token === '' ? {} : bearer(token) });
}

/** The error code of an answer in either envelope. */
export function codeOf(answer: Answer): string {
  return answer.body?.error?.code ?? answer.body?.code ?? `${answer.status} without a code`;
}

/** `409 duplicate_signal_id`, or just `202`. */
export function verdict(answer: Answer): string {
  return answer.status < 400 ? `${answer.status}` : `${answer.status} ${codeOf(answer)}`;
}

/** How often each verdict was given. */
export function tally(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const answer of answers) counts[verdict(answer)] = (counts[verdict(answer)] ?? 0) + 1;
  return counts;
}
