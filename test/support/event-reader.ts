/**
 * The SSE reader of the tests and harnesses: one connection to the event stream, which can also stop
 * reading. Readers that violate HTTP are in harness/fuzz/readers/misbehaving-readers.ts.
 */
import { request, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { watchAnswer, watchEvent } from './answer-watch.js';
import { NextChange } from './next-change.js';
import { hello } from './plugin.js';

export interface ReadEvent {
  readonly id: string;
  readonly name: string;
  readonly data: any;
  /** Of the data, as it came. */
  readonly text: string;
}

export interface StreamRequest {
  readonly source?: object;
  /** More than one is sent as more than one header. */
  readonly cursor?: string | string[];
  readonly method?: 'GET' | 'HEAD';
}

export class EventReader {
  /** Received and not taken by `next`, in order. */
  readonly events: ReadEvent[] = [];
  readonly comments: string[] = [];
  /** Values of all `retry:` lines. */
  readonly retries: number[] = [];
  /** The text before the first blank line. */
  first: string | undefined;
  /** Events received in total. */
  count = 0;
  /** Id of the newest event, or of where the stream began: what a client resumes after. */
  lastId = '';
  ended: 'properly' | 'broken' | undefined;
  #head = '';
  readonly #parser = createParser({
    onEvent: (event) => this.#takeEvent(event),
    onRetry: (retryMs) => this.retries.push(retryMs),
    onComment: (comment) => this.comments.push(comment),
  });
  readonly #change = new NextChange();

  constructor(readonly response: IncomingMessage) {
    response.setEncoding('utf8');
    response.on('data', (text: string) => this.#take(text));
    response.on('error', () => undefined);
    response.on('close', () => {
      this.ended = response.complete ? 'properly' : 'broken';
      this.#change.happened();
    });
  }

  get status(): number {
    return this.response.statusCode as number;
  }

  /** Waits for the first event of this name that `fits`, and takes it out. */
  async next(name: string, fits: (data: any) => boolean = () => true): Promise<ReadEvent> {
    for (;;) {
      const place = this.events.findIndex((event) => event.name === name && fits(event.data));
      if (place >= 0) return this.events.splice(place, 1)[0] as ReadEvent;
      if (this.ended !== undefined) throw new Error(`stream ended while waiting for ${name}`);
      await this.#change.wait();
    }
  }

  /** Waits until `count` events have been received in total. */
  async received(count: number): Promise<void> {
    while (this.count < count) {
      if (this.ended !== undefined) throw new Error(`ended after ${this.count} of ${count} events`);
      await this.#change.wait();
    }
  }

  async commented(): Promise<void> {
    while (this.comments.length === 0) {
      if (this.ended !== undefined) throw new Error('ended without a comment');
      await this.#change.wait();
    }
  }

  /** @returns whether the stream ended with its last chunk, or was cut. Throws when there is none: a refusal ends too. */
  async waitEnd(): Promise<'properly' | 'broken'> {
    if (this.status !== 200) throw new Error(`no stream, but ${this.status}`);
    while (this.ended === undefined) await this.#change.wait();
    return this.ended;
  }

  /** Waits until this many `retry:` lines have been received, or the stream has ended. */
  async retried(count: number): Promise<void> {
    while (this.retries.length < count && this.ended === undefined) await this.#change.wait();
  }

  /** Stops reading from the socket. */
  stopReading(): void {
    this.response.pause();
  }

  readAgain(): void {
    this.response.resume();
  }

  close(): void {
    this.response.destroy();
  }

  #take(text: string): void {
    if (this.first === undefined) {
      this.#head += text;
      const end = this.#head.indexOf('\n\n');
      if (end >= 0) this.first = this.#head.slice(0, end);
      const begin = this.first === undefined ? null : /^id: (.*)$/m.exec(this.first);
      if (begin !== null && this.lastId === '') this.lastId = begin[1] ?? '';
    }
    this.#parser.feed(text);
    this.#change.happened();
  }

  #takeEvent({ id, event: name = '', data: text }: EventSourceMessage): void {
    const data: unknown = JSON.parse(text);
    watchEvent(name, data);
    this.count++;
    this.lastId = id ?? this.lastId;
    this.events.push({ id: id ?? '', name, data, text });
  }
}

/** The source that the tests' `hello` names, as a query. */
export function sourceQuery(fields: object = {}): string {
  const { platform, instanceId, accountName } = { ...hello, ...fields };
  return new URLSearchParams({ platform, instanceId, accountName }).toString();
}

/** Resolves with the head of the response, whatever its status. */
export async function openReader(
  url: string,
  key: string,
  wish: StreamRequest = {},
): Promise<EventReader> {
  const path = `/api/v1/terminal-events/stream?${sourceQuery(wish.source)}`;
  const method = wish.method ?? 'GET';
  const sent = request(url + path, {
    agent: false,
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(wish.cursor === undefined ? {} : { 'last-event-id': wish.cursor }),
    },
  });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const { statusCode, headers } = response;
  watchAnswer(url, {
    request: { method, path },
    status: statusCode as number,
    header: (name) => headers[name.toLowerCase()] as string | undefined,
    headerNames: Object.keys(headers),
    text: undefined,
  });
  return new EventReader(response);
}
