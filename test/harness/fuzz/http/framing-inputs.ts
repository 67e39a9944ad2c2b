/**
 * Request smuggling: requests whose end two parsers could see in different places, followed by whole
 * requests that would act if they were parsed.
 */
import type { Chance } from '../../chance.js';
import { anyDraft, hiddenRequest, write, type Material } from './valid-requests.js';
import type { Input } from './input.js';
import { cut } from './plain-inputs.js';

const encodings: readonly string[] = [
  'chunked', 'Chunked', 'identity', 'gzip', 'gzip, chunked', 'chunked, identity', 'chunked,', ',chunked',
  'xchunked', 'chunkedx', 'chunked;q=1', '"chunked"', 'chunk', '', ' ', 'chunked chunked', '\x0bchunked',
  'chunked\x00', 'c\x00hunked', '\tchunked\t', 'identity, chunked, chunked', 'chunked\xa0', '\x85chunked',
]; // oxfmt-ignore

/** `whole`: length with the hidden request; `own`: length of the request's own body. */
const lengths: readonly ((own: number, whole: number) => string)[] = [
  (own) => `${own}`,
  (_, whole) => `${whole}`,
  () => '0',
  () => '',
  (own) => `+${own}`,
  (own) => `-${own}`,
  (own) => `0x${own.toString(16)}`,
  (own) => `${own}, ${own}`,
  (own, whole) => `${own}, ${whole}`,
  (own) => `${own} ${own}`,
  (own) => `00${own}`,
  (own) => `${own}.0`,
  (own) => `${own}e0`,
  (own) => `\t${own}\t`,
  (own) => `"${own}"`,
  (own) => `${own};`,
  (own) => `${own}\x00`,
  (own) => `\x80${own}`,
  (own) => `${own}\xa0`,
  (own) => `\u00b2${own}`,
  () => '18446744073709551616',
  (own) => `${2n ** 64n + BigInt(own)}`,
  (own) => `${2 ** 32 + own}`,
  () => '9'.repeat(100),
];

const names = {
  encoding: ['Transfer-Encoding', 'transfer-encoding', 'TRANSFER-ENCODING', 'Transfer_Encoding', 'Transfer-Encoding ', ' Transfer-Encoding', 'Transfer-Encoding\t', 'X: x\nTransfer-Encoding', 'X: x\rTransfer-Encoding', 'Transfer\xadEncoding', 'Transfer-Encoding\x80'],
  length: ['Content-Length', 'content-length', 'CONTENT-LENGTH', 'Content_Length', 'Content-Length ', ' Content-Length', 'X: x\nContent-Length', 'Content-Length\x00', 'Content-Length\x80'],
} as const; // oxfmt-ignore

function nameOf(kind: keyof typeof names, chance: Chance): string {
  return chance.happens(0.75) ? names[kind][0] : chance.pick(names[kind]);
}

export function framingInput(material: Material): Input {
  const { chance } = material;
  const draft = anyDraft(material);
  const hidden = Array.from({ length: chance.weigh({ one: 5, some: 1 }) === 'one' ? 1 : 5 }, () =>
    hiddenRequest(material),
  ).join('');
  const own = chance.weigh({ own: 3, none: 1, chunks: 3, inChunk: 1 });
  const body = {
    own: draft.body === '' ? '{}' : draft.body,
    none: '',
    chunks: '0\r\n\r\n',
    inChunk: `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`,
  }[own];
  const framings = Array.from({ length: chance.between(1, 3) }, () => {
    if (chance.happens(0.5)) return `${nameOf('encoding', chance)}: ${chance.pick(encodings)}`;
    const length = chance.pick(lengths)(body.length, body.length + hidden.length);
    return `${nameOf('length', chance)}: ${length}`;
  });
  const lines = [...draft.lines];
  for (const framing of framings) lines.splice(chance.between(0, lines.length), 0, framing);
  if (chance.happens(0.1)) lines.push(chance.pick(['Host: gateway', 'Host: other', 'Host:']));
  const bytes = write({ ...draft, lines, body }) + hidden;
  const pieces = chance.weigh({ one: 6, two: 2, any: 2 });
  const place = bytes.length - hidden.length;
  return {
    name: `framing: ${framings.join(' | ')}, ${own}`,
    pieces:
      pieces === 'one'
        ? [bytes]
        : pieces === 'two'
          ? [bytes.slice(0, place), bytes.slice(place)]
          : cut(bytes, chance),
    isPlain: false,
    ending: 'leave',
  };
}
