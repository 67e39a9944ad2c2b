/**
 * Reads what `strace -f -y -ttt` has written: every traced call with its bytes, in order. A call has two
 * places in that order, its begin and its return, since other threads work in between.
 */
import { openSync, readSync, closeSync } from 'node:fs';

export interface Call {
  readonly name: string;
  /** Its arguments as strace writes them, every string as `""`. */
  readonly args: readonly string[];
  /** The strings, in order. */
  readonly strings: readonly Buffer[];
  /** -1 for a failure; undefined until it returns, and when its process ended before that. */
  result: number | undefined;
}

export interface TraceEvent {
  readonly kind: 'begin' | 'return';
  readonly call: Call;
  /** Wall time in Unix ms. */
  readonly time: number;
}

const bytesAtOnce = 4 * 1024 * 1024;
const [quote, backslash, newline, open, close] = [...Buffer.from('"\\\n<>')] as [
  number,
  number,
  number,
  number,
  number,
];

/** The lines of a file of any size, one at a time. */
function* linesOf(path: string): Generator<Buffer> {
  const file = openSync(path, 'r');
  try {
    let parts: Buffer[] = [];
    for (;;) {
      const chunk = Buffer.allocUnsafe(bytesAtOnce);
      let rest = chunk.subarray(0, readSync(file, chunk));
      if (rest.length === 0) return;
      for (let at = rest.indexOf(newline); at >= 0; at = rest.indexOf(newline)) {
        yield parts.length === 0
          ? rest.subarray(0, at)
          : Buffer.concat([...parts, rest.subarray(0, at)]);
        parts = [];
        rest = rest.subarray(at + 1);
      }
      parts.push(rest);
    }
  } finally {
    closeSync(file);
  }
}

const head = /^(\d+) +(\d+\.\d+) (?:(\w+)\(|<\.\.\. (\w+) resumed>)/;
const headBytesMax = 80;
const unfinished = Buffer.from(' <unfinished ...>');

/** The events of one process and its threads. */
export function* readTrace(path: string): Generator<TraceEvent> {
  const underWay = new Map<string, Call>();
  for (const line of linesOf(path)) {
    const found = head.exec(line.toString('latin1', 0, headBytesMax));
    if (found === null) continue;
    const [start, thread = '', seconds, name] = found;
    const time = Number(seconds) * 1000;
    const rest = line.subarray(start.length);
    const isUnfinished = rest.subarray(-unfinished.length).equals(unfinished);
    let call = underWay.get(thread);
    let end = rest.toString('latin1', 0, name === undefined ? rest.length : 0);
    underWay.delete(thread);
    if (name !== undefined) {
      const { text, strings } = takeStrings(rest);
      const length = isUnfinished
        ? text.length - unfinished.length
        : text.lastIndexOf(')', text.lastIndexOf(' = '));
      call = { name, args: text.slice(0, length).split(', '), strings, result: undefined };
      end = text.slice(length);
      yield { kind: 'begin', call, time };
    }
    if (call === undefined) continue;
    if (isUnfinished) underWay.set(thread, call);
    else if ((call.result = readResult(end)) !== undefined) yield { kind: 'return', call, time };
  }
}

/** Reads `) = 3</path>`, `) = -1 ENOENT (…)` or, when the process ended in the call, `) = ?`. */
function readResult(text: string): number | undefined {
  const found = / = (-?\d+)/.exec(text);
  return found === null ? undefined : Number(found[1]);
}

/** Quotes within `<…>`, where paths are, begin no string. */
function takeStrings(line: Buffer): { text: string; strings: Buffer[] } {
  const strings: Buffer[] = [];
  let text = '';
  let from = 0;
  let depth = 0;
  for (let i = 0; i < line.length; i++) {
    const byte = line[i];
    if (byte === open) depth++;
    else if (byte === close) depth = Math.max(0, depth - 1);
    else if (byte === quote && depth === 0) {
      const end = endOfString(line, i + 1);
      strings.push(unescape(line.subarray(i + 1, end)));
      text += `${line.toString('latin1', from, i)}""`;
      from = end + 1;
      i = end;
    }
  }
  return { text: text + line.toString('latin1', from), strings };
}

function endOfString(line: Buffer, from: number): number {
  for (let at = from; ; at++) {
    const end = line.indexOf(quote, at);
    let before = end;
    while (line[before - 1] === backslash) before--;
    if ((end - before) % 2 === 0) return end;
    at = end;
  }
}

const escapes: Readonly<Record<string, number>> = { n: 10, t: 9, v: 11, f: 12, r: 13 };
const [zero, seven] = [0x30, 0x37];
const isOctal = (byte: number | undefined): byte is number =>
  byte !== undefined && byte >= zero && byte <= seven;

/** Escapes of C: one letter, or up to three octal digits. */
function unescape(text: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(text.length);
  let length = 0;
  for (let i = 0; i < text.length;) {
    const byte = text[i++] as number;
    if (byte !== backslash) {
      bytes[length++] = byte;
      continue;
    }
    const next = text[i++] as number;
    if (!isOctal(next)) {
      bytes[length++] = escapes[String.fromCharCode(next)] ?? next;
      continue;
    }
    let value = next - zero;
    for (let digits = 1; digits < 3 && isOctal(text[i]); digits++) {
      value = value * 8 + (text[i++] as number) - zero;
    }
    bytes[length++] = value;
  }
  return Buffer.from(bytes.subarray(0, length));
}
