/** Malformed and borderline chunked bodies, with whole requests in and after them. */
import type { Chance } from '../../chance.js';
import { drafts, hiddenRequest, write, type Material } from './valid-requests.js';
import type { Input } from './input.js';
import { cut } from './plain-inputs.js';

/** `hex`: the correct size. */
const sizes: readonly ((hex: string) => string)[] = [
  (hex) => hex,
  (hex) => hex.toUpperCase(),
  (hex) => hex.padStart(16, '0'),
  (hex) => hex.padStart(17, '0'),
  (hex) => hex.padStart(200, '0'),
  (hex) => `${hex};a=b`,
  (hex) => `${hex};`,
  (hex) => `${hex} ; a="\r\n"`,
  (hex) => `${hex} `,
  (hex) => ` ${hex}`,
  (hex) => `\t${hex}`,
  (hex) => `0x${hex}`,
  (hex) => `+${hex}`,
  (hex) => `-${hex}`,
  (hex) => `-1${hex}`,
  (hex) => `1${'0'.repeat(16)}${hex}`,
  (hex) => `${'f'.repeat(16)}${hex}`,
  () => 'ffffffffffffffff',
  () => '7fffffffffffffff',
  () => '80000000',
  () => '100000000',
  () => '',
  () => 'zz',
  (hex) => `${hex}g`,
  (hex) => `${hex}\0`,
  (hex) => `${hex}\r`,
  (hex) => (parseInt(hex, 16) + 1).toString(16),
  (hex) => Math.max(1, parseInt(hex, 16) - 1).toString(16),
];

const lineEnds = ['\r\n', '\r\n', '\r\n', '\r\n', '\n', '\r', '', '\r\r\n', 'XX', '\n\n'] as const;

const ends: readonly ((hidden: string) => string)[] = [
  () => '0\r\n\r\n',
  () => '0\r\n\r\n',
  () => '000\r\n\r\n',
  () => '0\r\nX: y\r\n\r\n',
  () => '0\r\nContent-Length: 5\r\nHost: x\r\n\r\n',
  (hidden) => `0\r\n${hidden}\r\n\r\n`,
  () => '0;x=y\r\n\r\n',
  () => '0\r\n',
  () => '0\n\n',
  () => '0\r\nXX',
  () => '-0\r\n\r\n',
  () => '',
];

export function chunkInput(material: Material): Input {
  const { chance } = material;
  const draft = drafts.submit(material);
  const hidden = hiddenRequest(material);
  const isHonest = chance.happens(0.7);
  let body = '';
  for (let at = 0; at < draft.body.length;) {
    const data = draft.body.slice(at, at + chance.between(1, draft.body.length));
    at += data.length;
    // Most chunks are valid, so that the invalid one is reached.
    const isOdd = !isHonest || chance.happens(0.3);
    body += `${sizeOf(data, isOdd, chance)}${isOdd ? chance.pick(lineEnds) : '\r\n'}`;
    body += `${data}${isOdd && chance.happens(0.3) ? chance.pick(lineEnds) : '\r\n'}`;
  }
  const end = chance.pick(ends)(hidden);
  const lines = [...draft.lines, 'Transfer-Encoding: chunked'];
  const bytes = write({ ...draft, lines, body: body + end }) + hidden;
  return {
    name: 'chunks',
    pieces: chance.happens(0.6) ? [bytes] : cut(bytes, chance),
    isPlain: false,
    ending: 'leave',
  };
}

function sizeOf(data: string, isOdd: boolean, chance: Chance): string {
  const hex = data.length.toString(16);
  return isOdd ? chance.pick(sizes)(hex) : hex;
}
