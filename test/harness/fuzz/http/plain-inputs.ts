/**
 * Valid HTTP in unusual forms: any split, any order and case of headers, chunks of any size, pipelined
 * requests. Every answer is known exactly.
 */
import type { Chance } from '../../chance.js';
import {
  anyDraft,
  drafts,
  promptDrafts,
  write,
  type Draft,
  type Material,
} from './valid-requests.js';
import type { Input } from './input.js';

type Change = (draft: Draft, chance: Chance) => Draft;

// oxfmt-ignore
const changes: Readonly<Record<string, Change>> = {
  'as it is': (draft) => draft,
  'names in another case': ({ lines, ...rest }, chance) => ({ ...rest, lines: lines.map((line) => line.replace(/^[^:]+/, (name) => Array.from(name, (letter) => (chance.happens(0.5) ? letter.toUpperCase() : letter.toLowerCase())).join(''))) }),
  'headers in another order': ({ lines, ...rest }, chance) => ({ ...rest, lines: chance.shuffled(lines) }),
  'blanks around values': ({ lines, ...rest }, chance) => ({ ...rest, lines: lines.map((line) => line.replace(/: (.*)$/, (_, value: string) => `:${chance.pick(['', ' ', '   ', '\t', ' \t '])}${value}${chance.pick(['', ' ', '\t', '  '])}`)) }),
  'other headers': ({ lines, ...rest }, chance) => ({ ...rest, lines: [...lines, ...Array.from({ length: chance.between(1, 60) }, (_, at) => `X-${at}: ${'x'.repeat(chance.between(0, 20))}`)] }),
  'a traceparent': ({ lines, ...rest }, chance) => ({ ...rest, lines: [...lines, `traceparent: ${chance.pick(['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', '00-00000000000000000000000000000000-00f067aa0ba902b7-01', 'x', '', '\t'])}`] }),
  'a forged address': ({ lines, ...rest }) => ({ ...rest, lines: [...lines, 'X-Forwarded-For: 10.0.0.1, ::1, x', 'Forwarded: for=10.0.0.1', 'X-Real-IP: 10.0.0.1'] }),
  'a query': (draft, chance) => (draft.target.includes('?') ? draft : { ...draft, target: `${draft.target}?${chance.pick(['', 'a=b', '%', '%zz=%00', '__proto__=1&constructor=2', `a=${'x'.repeat(500)}`])}` }),
  'HEAD in place of GET': (draft) => (draft.method === 'GET' && !draft.target.includes('stream') ? { ...draft, method: 'HEAD' } : draft),
  'in chunks': (draft, chance) => (draft.body === '' ? draft : { ...draft, lines: [...draft.lines, 'Transfer-Encoding: chunked'], body: chunked(draft.body, chance) }),
  '100-continue': (draft) => (draft.body === '' ? draft : { ...draft, lines: [...draft.lines, 'Expect: 100-continue'] }),
  'another expectation': ({ lines, ...rest }, chance) => ({ ...rest, lines: [...lines, ...chance.pick([['Expect: 100-Continue'], ['Expect: 200-ok'], ['Expect:'], ['Expect: x', 'Expect: 100-continue'], ['Expect: 100-continue', 'Expect: x']])] }),
  'a body that nobody asked for': (draft, chance) => (draft.body === '' ? { ...draft, body: 'x'.repeat(chance.between(1, 2_000)) } : draft),
  'Connection: close': ({ lines, ...rest }) => ({ ...rest, lines: [...lines, 'Connection: close'] }),
  'a key twice': ({ lines, ...rest }) => ({ ...rest, lines: [...lines, ...lines.filter((line) => /^(idem|auth)/i.test(line))] }),
  'a Content-Type twice': ({ lines, ...rest }) => ({ ...rest, lines: [...lines, ...lines.filter((line) => /^content-type/i.test(line))] }),
  'an odd Idempotency-Key': ({ lines, ...rest }, chance) => ({ ...rest, lines: [...lines.filter((line) => !/^idem/i.test(line)), `Idempotency-Key:${chance.pick(['', ' ', ` ${'k'.repeat(129)}`, ' a\tb', ' a\x7fb', ` ${'k'.repeat(2_000)}`])}`] }),
  'an odd Content-Type': ({ lines, ...rest }, chance) => ({ ...rest, lines: [...lines.filter((line) => !/^content-type/i.test(line)), `Content-Type:${chance.pick(['', ' text/plain', ' application/jsonx', ' application/json;charset=utf-8', ' APPLICATION/JSON ; x', ' application/json, text/plain', ' x/application/json'])}`] }),
  'an odd Authorization': ({ lines, ...rest }, chance) => ({ ...rest, lines: lines.map((line) => line.replace('Bearer ', chance.pick(['bearer ', 'BEARER  ', 'Basic ', 'Bearer\t', 'Bearer', ' ', 'Bearer svc_api_ ']))) }),
  'an odd path': (draft, chance) => ({ ...draft, target: chance.pick([(path: string) => `/${path}`, (path: string) => path.replace('signals', '%73ignals'), (path: string) => path.replace('/api', '/api/.'), (path: string) => `/x/..${path}`, (path: string) => path.replace('/api', '/%61pi'), (path: string) => path.toUpperCase(), (path: string) => path.replace('/v1/', '/v1//')])(draft.target) }),
  'a Last-Event-ID': ({ lines, ...rest }, chance) => ({ ...rest, lines: [...lines, ...chance.pick([['Last-Event-ID: x'], ['Last-Event-ID: '], [`Last-Event-ID: ${'x'.repeat(81)}`], ['Last-Event-ID: a', 'Last-Event-ID: a']])] }),
};

export function plainInput(material: Material): Input {
  const { chance } = material;
  if (chance.happens(0.15)) return pipelined(material);
  const name = chance.pick(Object.keys(changes));
  const bytes = write((changes[name] as Change)(anyDraft(material), chance));
  const way = chance.weigh({ whole: 3, cut: 5, slow: bytes.length < 700 ? 1 : 0 });
  const pieces = way === 'whole' ? [bytes] : way === 'cut' ? cut(bytes, chance) : slowly(bytes);
  const ending = chance.weigh({ leave: 20, 'half-close': 1, reset: 1 });
  return { name: `plain: ${name}, ${way}`, pieces, isPlain: true, ending };
}

function pipelined(material: Material): Input {
  const { chance } = material;
  const requests = Array.from({ length: chance.between(2, 12) }, () =>
    write(drafts[chance.pick(promptDrafts)](material)),
  );
  return { name: 'plain: pipelined', pieces: [requests.join('')], isPlain: true, ending: 'leave' };
}

/** Splits at a few random places. */
export function cut(bytes: string, chance: Chance): string[] {
  const cuts = Array.from({ length: chance.between(1, 5) }, () => chance.between(0, bytes.length));
  const places = [0, ...cuts.sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, at) => bytes.slice(places[at], end));
}

/** Single bytes after the request line, which the native parser needs whole. */
function slowly(bytes: string): string[] {
  const lineEnd = bytes.indexOf('\r\n') + 2;
  return [bytes.slice(0, lineEnd), ...bytes.slice(lineEnd).split('')];
}

function chunked(body: string, chance: Chance): string {
  let text = '';
  for (let at = 0; at < body.length;) {
    const piece = body.slice(at, at + chance.between(1, Math.max(1, body.length)));
    const size = piece.length.toString(16);
    text += `${chance.pick([size, size.toUpperCase(), size.padStart(5, '0')])}\r\n${piece}\r\n`;
    at += piece.length;
  }
  return `${text}0\r\n\r\n`;
}
