/**
 * A strict HTTP/1.1 parser written from RFC 9112, not from the gateway: the gateway must not act on
 * what it rejects. Where the native parser is known to differ (native-notes/http-parser.md) the end is
 * a named gap, and the parser in `native` mode says what the gateway may act on.
 */
export interface ReadRequest {
  readonly method: string;
  readonly target: string;
  /** Names in lower case, values trimmed, latin1. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Undefined when it is incomplete or malformed. */
  readonly body: string | undefined;
  /** Offsets of its beginning and of the end of its request line. */
  readonly start: number;
  readonly lineEnd: number;
  /** Legal, but sent by no usual client: the gateway may refuse it. */
  readonly isOdd: boolean;
}

/** `refused`: a strict parser reads no further. */
type ReadEnd = 'done' | 'cut' | `refused: ${string}` | `gap: ${string}`;

export interface Reading {
  readonly requests: readonly ReadRequest[];
  readonly end: ReadEnd;
}

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const forbiddenInHeaders = /[\0-\x08\x0a-\x1f]/;
/** Bytes that the native parser trims from values. */
const aroundValues = /^[\t \x80-\xff]+|[\t \x80-\xff]+$/g;
/** Digits by value; the native parser also reads `g`, as 16. */
const nativeDigits = '0123456789:;<=>?@';
/** The native parser accepts more hex digits than 16; a blank or non-ASCII byte hides what follows. */
const nativeSize = /^[0-9:;<=>?@A-Ga-g]*(?=[\0- \x80-\xff]|$)/;

type Manner = 'strict' | 'native';

/** `bytes`: latin1. `cuts`: offsets where segments may end, which matter to the native parser. */
export function readHttp(
  bytes: string,
  behaviour: Manner = 'strict',
  cuts: ReadonlySet<number> = new Set(),
): Reading {
  const requests: ReadRequest[] = [];
  let at = 0;
  for (;;) {
    if (at >= bytes.length) return { requests, end: 'done' };
    const head = readHead(bytes, at, behaviour);
    if (typeof head === 'string') return { requests, end: head };
    const body = readBody(bytes, head, behaviour, cuts);
    requests.push({ ...head.request, body: body.text });
    if (body.end !== undefined) return { requests, end: body.end };
    at = body.next;
  }
}

interface Head {
  readonly request: Omit<ReadRequest, 'body'>;
  readonly bodyStart: number;
  /** Content length, or undefined for a chunked body. */
  readonly bodyBytes: number | undefined;
}

function readHead(bytes: string, from: number, behaviour: Manner): Head | ReadEnd {
  let start = from;
  // RFC 9112 lets a server skip an empty line before a request, or refuse it.
  while (bytes.startsWith('\r\n', start)) start += 2;
  const lineEnd = bytes.indexOf('\r\n', start);
  const headEnd = bytes.indexOf('\r\n\r\n', start);
  if (headEnd < 0) return 'cut';
  const line = bytes.slice(start, lineEnd);
  const parts = /^([^ ]*) (\/[^ ]*) HTTP\/1\.1$/.exec(line);
  if (parts === null) return 'refused: request line';
  const [, method = '', target = ''] = parts;
  let isOdd = start !== from || !token.test(method) || /[^!-~]|#/.test(target);
  const headers: [string, string][] = [];
  const lines = lineEnd === headEnd ? [] : bytes.slice(lineEnd + 2, headEnd).split('\r\n');
  for (const header of lines) {
    const colon = header.indexOf(':');
    if (colon === 0) {
      if (behaviour === 'native') break;
      return 'gap: empty header name';
    }
    const name = header.slice(0, colon);
    const value = header.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, '');
    if (colon < 0 || /[\0- ]/.test(name)) return 'refused: header name';
    if (forbiddenInHeaders.test(value)) return 'refused: header value';
    isOdd ||= !token.test(name);
    headers.push([name.toLowerCase(), value]);
  }
  const framing = framingOf(headers, behaviour);
  if (typeof framing === 'string') return framing;
  const request = { method, target, headers, start, lineEnd: lineEnd + 2, isOdd };
  return { request, bodyStart: headEnd + 4, ...framing };
}

function framingOf(
  headers: readonly (readonly [string, string])[],
  behaviour: Manner,
): { readonly bodyBytes: number | undefined } | ReadEnd {
  const valuesOf = (wanted: string): string[] =>
    headers
      .filter(([name]) => name === wanted)
      .map(([, value]) => (behaviour === 'strict' ? value : value.replace(aroundValues, '')));
  const [hosts, lengths, encodings] = ['host', 'content-length', 'transfer-encoding'].map(
    valuesOf,
  ) as [string[], string[], string[]];
  if (hosts.length !== 1) return 'refused: host';
  if (lengths.length + encodings.length > 1) return 'refused: two framings';
  const [framing] = [...lengths, ...encodings];
  if (framing === undefined) return { bodyBytes: 0 };
  if (lengths.length === 1) {
    if (/^[0-9]{1,18}$/.test(framing)) return { bodyBytes: Number(framing) };
    return trimmedIs(framing, /^[0-9]{1,18}$/) ?? 'refused: content-length';
  }
  if (/^chunked$/i.test(framing)) return { bodyBytes: undefined };
  return trimmedIs(framing, /^chunked$/i) ?? 'refused: transfer-encoding';
}

function trimmedIs(value: string, form: RegExp): ReadEnd | undefined {
  const isForm = form.test(value.replace(aroundValues, ''));
  return isForm ? 'gap: bytes beyond ASCII around a framing' : undefined;
}

interface Body {
  readonly text: string | undefined;
  readonly next: number;
  readonly end?: ReadEnd;
}

function readBody(
  bytes: string,
  { bodyStart, bodyBytes }: Head,
  behaviour: Manner,
  cuts: ReadonlySet<number>,
): Body {
  if (bodyBytes === undefined) return readChunks(bytes, bodyStart, behaviour, cuts);
  const next = bodyStart + bodyBytes;
  if (next > bytes.length) return { text: undefined, next, end: 'cut' };
  return { text: bytes.slice(bodyStart, next), next };
}

interface ChunkSize {
  readonly size: number;
  readonly dataStart: number;
}

type SizeReader = (bytes: string, at: number, cuts: ReadonlySet<number>) => ChunkSize | ReadEnd;

const readSize: Readonly<Record<Manner, SizeReader>> = {
  strict(bytes, at) {
    const lineEnd = bytes.indexOf('\r\n', at);
    const line = bytes.slice(at, lineEnd < 0 ? undefined : lineEnd);
    if (lineEnd < 0 && /^[0-9a-fA-F]{0,16}\r?$/.test(line)) return 'cut';
    if (lineEnd >= 0 && /^[0-9a-fA-F]{1,16}$/.test(line)) {
      return { size: parseInt(line, 16), dataStart: lineEnd + 2 };
    }
    return nativeSize.test(line) ? 'gap: chunk size' : 'refused: chunk size';
  },
  native(bytes, at, cuts) {
    let size = 0;
    let isHidden = false;
    for (let place = at; place < bytes.length; place++) {
      // A blank hides the rest of its segment.
      if (cuts.has(place)) isHidden = false;
      const character = bytes.charAt(place);
      isHidden ||= !/[!-\x7f]/.test(character);
      if (character === '\n') return { size, dataStart: place + 1 };
      if (isHidden) continue;
      const letter = 'abcdefg'.indexOf(character.toLowerCase());
      const digit = letter < 0 ? nativeDigits.indexOf(character) : 10 + letter;
      if (digit < 0) return 'refused: chunk size';
      size = size * 16 + digit;
    }
    return 'cut';
  },
};

function readChunks(
  bytes: string,
  from: number,
  behaviour: Manner,
  cuts: ReadonlySet<number>,
): Body {
  let at = from;
  let text = '';
  for (;;) {
    const chunk = readSize[behaviour](bytes, at, cuts);
    if (typeof chunk === 'string') return { text: undefined, next: at, end: chunk };
    const { size, dataStart } = chunk;
    const isNative = behaviour === 'native';
    at = dataStart + size + 2;
    // The native parser does not wait for the line after the last chunk.
    if (size === 0 && isNative) return { text, next: at };
    if (at > bytes.length) {
      return { text: undefined, next: at, end: size === 0 ? 'gap: end of the last chunk' : 'cut' };
    }
    text += bytes.slice(dataStart, dataStart + size);
    const isEnded = isNative || bytes.startsWith('\r\n', dataStart + size);
    if (size === 0) return { text, next: at, ...(isEnded ? {} : { end: 'gap: trailers' }) };
    if (!isEnded) return { text: undefined, next: at, end: 'gap: end of a chunk' };
  }
}
