/**
 * An HTTP client that sends exactly the bytes it is told, whether they are HTTP or not, and reads
 * answers one by one from the same connection.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { watchAnswer } from './answer-watch.js';
import type { SeenRequest } from './answer-judge.js';
import { answersOfHangingDisk } from './api.js';
import { until } from './eventually.js';
import { NextChange } from './next-change.js';

export interface RawAnswer {
  readonly status: number;
  /** By lower-case name, every value in order. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: string;
  /** Status line and headers as they came. */
  readonly head: string;
}

export class RawClient {
  #received = '';
  #isClosed = false;
  readonly #change = new NextChange();

  private constructor(
    readonly socket: Socket,
    readonly url: string,
  ) {
    socket.setNoDelay(true);
    socket.on('data', (chunk) => {
      this.#received += chunk.toString('latin1');
      this.#change.happened();
    });
    socket.on('close', () => {
      this.#isClosed = true;
      this.#change.happened();
    });
    socket.on('error', () => undefined);
  }

  static async connect(url: string): Promise<RawClient> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname.replace(/^\[|\]$/g, ''));
    await once(socket, 'connect');
    return new RawClient(socket, url);
  }

  /** Resolves when the bytes are with the system. */
  async send(bytes: string | Uint8Array): Promise<void> {
    const data = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
    await new Promise<void>((resolve) => this.socket.write(data, () => resolve()));
  }

  /** The next answer; undefined when the connection closed before a whole one came. */
  async answer(
    options: { isHead?: boolean; request?: SeenRequest } = {},
  ): Promise<RawAnswer | undefined> {
    for (;;) {
      const isHead = options.isHead === true;
      const answer = this.#take(isHead);
      if (answer !== undefined) {
        this.#watch(answer, isHead, options.request);
        return answer;
      }
      if (this.#isClosed) return undefined;
      await this.#change.wait();
    }
  }

  /** Sends a request and reads its answer, again while the disk hangs. */
  exchange(request: string): Promise<RawAnswer | undefined> {
    return rawPatiently(async () => {
      await this.send(request);
      return this.answer();
    });
  }

  /** Waits until the other side has closed. @returns what came and was not read. */
  async closed(): Promise<string> {
    while (!this.#isClosed) await this.#change.wait();
    return this.#received;
  }

  /** What came and was not read. */
  get unread(): string {
    return this.#received;
  }

  cut(): void {
    this.socket.destroy();
  }

  /** What the native server says by itself has no trace id. Neither that nor a granted upgrade is part of the API. */
  #watch({ status, headers, body }: RawAnswer, isHead: boolean, request?: SeenRequest): void {
    if (status === 101 || headers['x-trace-id'] === undefined) return;
    watchAnswer(this.url, {
      request,
      status,
      header: (name) => headers[name.toLowerCase()]?.join(', '),
      headerNames: Object.keys(headers),
      text: isHead ? undefined : body,
    });
  }

  #take(isHead: boolean): RawAnswer | undefined {
    const headEnd = this.#received.indexOf('\r\n\r\n');
    if (headEnd < 0) return undefined;
    const head = this.#received.slice(0, headEnd);
    const headers = readHeaders(head);
    const status = Number(/^\S+ (\d+)/.exec(head)?.[1]);
    const length = isHead || status === 204 ? 0 : Number(headers['content-length']?.[0] ?? 0);
    const bodyStart = headEnd + 4;
    if (this.#received.length < bodyStart + length) return undefined;
    const body = this.#received.slice(bodyStart, bodyStart + length);
    this.#received = this.#received.slice(bodyStart + length);
    return { status, headers, body: Buffer.from(body, 'latin1').toString(), head };
  }
}

/** The fields below a status line, by lower-case name. */
export function readHeaders(head: string): Record<string, string[]> {
  const headers: Record<string, string[]> = {};
  for (const line of head.split('\r\n').slice(1)) {
    const colon = line.indexOf(':');
    (headers[line.slice(0, colon).toLowerCase()] ??= []).push(line.slice(colon + 1).trim());
  }
  return headers;
}

/** A request's bytes: these header lines, a Host, and the body's length unless a line gives one. */
export function request(
  method: string,
  path: string,
  lines: readonly string[] = [],
  body = '',
): string {
  const hasLength = lines.some((line) => /^(content-length|transfer-encoding):/i.test(line));
  const framing = hasLength || body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  const head = [`${method} ${path} HTTP/1.1`, 'Host: gateway', ...lines, ...framing].join('\r\n');
  return `${head}\r\n\r\n${Buffer.from(body).toString('latin1')}`;
}

/** Asks again while the disk hangs, as a bot must. */
export function rawPatiently(
  ask: () => Promise<RawAnswer | undefined>,
): Promise<RawAnswer | undefined> {
  // The API's document and the metrics have these words, too.
  const tellsIt = ({ status, body }: RawAnswer) =>
    status >= 400 && answersOfHangingDisk.some((code) => body.includes(`"${code}"`));
  return until(ask, (answer) => answer === undefined || !tellsIt(answer));
}

/** One request on a connection of its own, and again on the next while the disk hangs. */
export function rawCall(
  url: string,
  method: string,
  path: string,
  lines: readonly string[] = [],
  body = '',
): Promise<RawAnswer | undefined> {
  return rawPatiently(async () => {
    const client = await RawClient.connect(url);
    await client.send(request(method, path, lines, body));
    const answer = await client.answer({ isHead: method === 'HEAD', request: { method, path } });
    client.cut();
    return answer;
  });
}
