/**
 * Looks for secrets in whatever a program says and writes: not only as they are, but in every
 * spelling in which they could slip out, and not only whole. Holds the places that were searched, so
 * that a test can see that nothing was left out, and the secrets that were found in them.
 */

export interface Finding {
  readonly place: string;
  readonly secret: string;
  readonly spelling: string;
}

/** As many characters of a secret are as good as all of it: the rest can be guessed, or looked up. */
const pieceLength = 12;
/** Forms by which unknown secrets are found: API keys beyond what lists show, and tokens. */
const shapes: Readonly<Record<string, RegExp>> = {
  'any API key': /svc_api_[\w-]{7,}/,
  'any session token': /sbs_[\w-]{12,}/,
  'any user token': /eyJ[\w-]{8,}\.eyJ[\w-]{8,}/,
};

export class SecretSearch {
  readonly findings: Finding[] = [];
  readonly places: string[] = [];
  readonly #needles: { secret: string; spelling: string; bytes: Buffer }[] = [];

  /** @param open characters at its beginning that are no secret, such as a prefix or what lists show. */
  add(name: string, secret: string, open = 0): void {
    const pieces = {
      beginning: secret.slice(open, open + pieceLength),
      end: secret.slice(-pieceLength),
    };
    for (const [part, piece] of Object.entries(pieces)) {
      for (const [spelling, bytes] of spellings(piece)) {
        this.#needles.push({ secret: name, spelling: `${part}, ${spelling}`, bytes });
      }
    }
  }

  /** @param isDocumented where secrets are given out on purpose: only those that are known count. */
  look(place: string, content: string | Uint8Array, isDocumented = false): void {
    this.places.push(place);
    const bytes = typeof content === 'string' ? Buffer.from(content) : Buffer.from(content);
    for (const { secret, spelling, bytes: needle } of this.#needles) {
      if (bytes.includes(needle)) this.findings.push({ place, secret, spelling });
    }
    if (isDocumented) return;
    const text = bytes.toString('latin1');
    for (const [secret, shape] of Object.entries(shapes)) {
      if (shape.test(text)) this.findings.push({ place, secret, spelling: 'its form' });
    }
  }
}

/** Spellings of a part of a secret, at any offset in an encoded text. */
function spellings(piece: string): [spelling: string, bytes: Buffer][] {
  const bytes = Buffer.from(piece);
  const escaped = JSON.stringify(piece).slice(1, -1);
  const texts: Record<string, string> = {
    raw: piece,
    JSON: escaped,
    'JSON in JSON': JSON.stringify(escaped).slice(1, -1),
    URL: encodeURIComponent(piece),
    'URL, as a form': new URLSearchParams({ '': piece }).toString().slice(1),
    hex: bytes.toString('hex'),
    HEX: bytes.toString('hex').toUpperCase(),
    reversed: Array.from(piece).reverse().join(''),
  };
  // In base64 three bytes share four characters, so a text looks different at each of three offsets.
  for (const offset of [0, 1, 2]) {
    const around = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    const first = Math.ceil((offset * 8) / 6);
    const last = Math.floor(((offset + bytes.length) * 8) / 6);
    texts[`base64 at ${offset}`] = around.slice(first, last);
    texts[`base64url at ${offset}`] = around
      .slice(first, last)
      .replaceAll('+', '-')
      .replaceAll('/', '_');
  }
  const all = Object.entries(texts).map(([name, text]): [string, Buffer] => [
    name,
    Buffer.from(text),
  ]);
  return [...all, ['UTF-16', Buffer.from(piece, 'utf16le')]];
}
