/** Heads that are malformed or exceed limits, followed by a whole request. */
import type { Chance } from '../../chance.js';
import { anyDraft, hiddenRequest, write, type Material } from './valid-requests.js';
import type { Input } from './input.js';
import { cut } from './plain-inputs.js';

type Change = (bytes: string, chance: Chance) => string;

/** Inserts a line at a random place of the head. */
function withLine(bytes: string, chance: Chance, line: string): string {
  const headEnd = bytes.indexOf('\r\n\r\n');
  const ends = [...bytes.slice(0, headEnd + 2).matchAll(/\r\n/g)].map(({ index }) => index + 2);
  const at = chance.pick(ends);
  return `${bytes.slice(0, at)}${line}\r\n${bytes.slice(at)}`;
}

const inLine =
  (change: (line: string, chance: Chance) => string): Change =>
  (bytes, chance) =>
    bytes.replace(/^[^\r]*/, (line) => change(line, chance));

const more =
  (...lines: string[]): Change =>
  (bytes, chance) =>
    withLine(bytes, chance, chance.pick(lines));

// oxfmt-ignore
const changes: Readonly<Record<string, Change>> = {
  'a huge header': (bytes, chance) => withLine(bytes, chance, `X: ${'x'.repeat(chance.between(3_500, 20_000))}`),
  'a huge name': (bytes, chance) => withLine(bytes, chance, `${'X'.repeat(chance.between(3_500, 20_000))}: x`),
  'a huge target': inLine((line, chance) => line.replace(/ \//, ` /${'x'.repeat(chance.between(3_500, 20_000))}`)),
  'many headers': (bytes, chance) => withLine(bytes, chance, Array.from({ length: chance.between(90, 1_000) }, () => 'X: 1').join('\r\n')),
  'a head without an end': (bytes, chance) => `${bytes.slice(0, bytes.indexOf('\r\n\r\n') + 2)}${'X: y\r\n'.repeat(chance.between(1, 20_000))}`,
  'a folded header': more('X: a\r\n b', 'X: a\r\n\tContent-Length: 0', 'Transfer-Encoding:\r\n chunked', 'Host:\r\n x', '\tX: a'),
  'a blank in a name': more('X : a', 'Content-Length : 0', 'Transfer-Encoding : chunked', 'Transfer-Encoding\t: chunked', ' Content-Length: 0', 'X Y: a'),
  'a control character': more('X: a\0b', 'X: a\x01b', 'X\0: a', 'X: \x0b', 'Content-Length: \x000', 'X: a\x1b[31mb', 'X\x7f: a'),
  'bytes beyond ASCII': more('X: \xff\xfe', 'X\xe9: a', 'Host: \xa0', 'Idempotency-Key: \x80\x80', 'Content-Length: \xa05', 'Content-Length: 5\x80', 'Transfer-Encoding: \x85chunked', 'Transfer-Encoding: chunked\xa0', 'Authorization: Bearer \xffx'),
  'a line without a colon': more('X', 'Transfer-Encoding', 'Content-Length 5', ''),
  'an empty name': more(': x', ':', ' : x', ':Content-Length: 5'),
  'a bare line feed': more('X: a\nContent-Length: 0', 'X: a\nTransfer-Encoding: chunked', 'X: a\n\nGET / HTTP/1.1'),
  'a bare carriage return': more('X: a\rContent-Length: 0', 'X: a\rTransfer-Encoding: chunked', '\rX: a', 'X\r: a', 'X: a\r'),
  'line feeds alone': (bytes) => bytes.replaceAll('\r\n', '\n'),
  'carriage returns alone': (bytes) => bytes.replaceAll('\r\n', '\r'),
  'no Host': (bytes) => bytes.replace(/Host: gateway\r\n/, ''),
  'two hosts': more('Host: gateway', 'Host: other', 'hOST:'),
  'another version': inLine((line, chance) => line.replace('HTTP/1.1', chance.pick(['HTTP/1.0', 'HTTP/2.0', 'HTTP/0.9', 'HTTP/1.2', 'HTTP/1.10', 'HTTP/1', 'http/1.1', 'HTTP/9.9', 'HTTPS/1.1', 'HTTP/1.1 ', ' HTTP/1.1', 'HTTP/1.1\t', '', 'RTSP/1.0']))),
  'another target': inLine((line, chance) => line.replace(/ \/\S*/, chance.pick([' http://gateway/api/v1/signals', ' *', ' gateway:80', ' ', '', ' api/v1/signals', ' //api/v1/signals', ' /api/v1/signals#x', ' /api/v1/sig nals', ' /api/v1/signals\0', ' /\x80\xff', ' /api/v1/signals\t', ' \\api\\v1\\signals']))),
  'another method': inLine((line, chance) => line.replace(/^\S+/, chance.pick(['post', 'PoSt', 'GET', 'HEAD', 'TRACE', 'CONNECT', 'PRI', 'M'.repeat(300), '', 'PO(ST', 'POST\0', 'P\x80ST', '\r\nPOST', '\r\n\r\n\r\nPOST', ' POST', 'GET\tPOST']))),
  'tabulators in the line': inLine((line) => line.replaceAll(' ', '\t')),
  'more blanks in the line': inLine((line) => line.replace(' ', '  ')),
  'an upgrade': more('Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: x', 'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='),
  'hop-by-hop headers': more('Connection: close, Authorization', 'Connection: keep-alive, Content-Length', 'TE: trailers', 'Trailer: Content-Length', 'Keep-Alive: timeout=1', 'Proxy-Connection: close'),
  'an expectation': more('Expect: 200-ok', 'Expect: 100-continue\r\nExpect: x', 'expect: 100-CONTINUE'),
  'a method in a header': more('X-HTTP-Method-Override: DELETE', 'X-Original-URL: /api/api-keys', 'X-Rewrite-URL: /'),
  'a PROXY line': (bytes) => `PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\n${bytes}`,
  'a TLS greeting': (bytes) => `\x16\x03\x01\x00\xc4\x01\x00\x00\xc0\x03\x03${bytes}`,
  'an HTTP/2 greeting': (bytes) => `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0${bytes}`,
  'bytes before it': (bytes, chance) => String.fromCharCode(...Array.from({ length: chance.between(1, 64) }, () => chance.between(0, 255))) + bytes,
};

export function headInput(material: Material): Input {
  const { chance } = material;
  const name = chance.pick(Object.keys(changes));
  const changed = (changes[name] as Change)(write(anyDraft(material)), chance);
  const bytes = chance.happens(0.6) ? changed + hiddenRequest(material) : changed;
  const pieces = chance.happens(0.7) ? [bytes] : cut(bytes, chance);
  return { name: `head: ${name}`, pieces, isPlain: false, ending: 'leave' };
}
