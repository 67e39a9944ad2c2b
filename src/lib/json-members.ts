/**
 * Lists the members of a JSON text. JSON.parse keeps the last of two members with one name; another reader of the
 * text may keep the first, or ignore upper and lower case.
 */

/** A member's place: names and, in a list, indexes. */
type Path = readonly (string | number)[];

/**
 * @param text an object that JSON.parse accepts.
 * @param within the path of an object in it; the whole one if it is left out.
 * @returns a name as often as it occurs, in the text's order.
 */
export function memberNames(text: string, within: Path = []): string[] {
  const names: string[] = [];
  const depth = within.length + 1;
  eachMember(text, depth, (path) => {
    const isWithin = path.length === depth && within.every((part, at) => part === path[at]);
    if (isWithin) names.push(path.at(-1) as string);
  });
  return names;
}

/**
 * @param text an object that JSON.parse accepts.
 * @returns the members that occur twice in their object, at any depth: `plans.business`, `platforms[1].token`.
 */
export function repeatedMembers(text: string): string[] {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  eachMember(text, Infinity, (path) => {
    const place = JSON.stringify(path);
    if (seen.has(place)) repeated.add(shown(path));
    seen.add(place);
  });
  return [...repeated];
}

function shown(path: Path): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`))
    .join('')
    .slice(1);
}

/**
 * @param text an object that JSON.parse accepts.
 * @param names ASCII in lower case.
 * @returns those that the object has more than once for a reader that ignores upper and lower case.
 */
export function ambiguousMembers(text: string, names: readonly string[]): Set<string> {
  const seen = new Set<string>();
  const ambiguous = new Set<string>();
  // Decodes no name: a text may have thousands.
  eachName(text, 1, (_, open, end) => {
    const name = names.find((each) => isWithoutCase(text, open + 1, end - 1, each));
    if (name === undefined) return;
    if (seen.has(name)) ambiguous.add(name);
    seen.add(name);
  });
  return ambiguous;
}

/** By way of upper case, where ſ becomes S: a case-insensitive decoder, such as Go's, takes ſ for s. */
function fold(code: number): string {
  return String.fromCharCode(code).toUpperCase().toLowerCase();
}

const foldedForms: readonly string[] = Array.from({ length: 128 }, (_, code) => fold(code));

function isWithoutCase(text: string, begin: number, end: number, name: string): boolean {
  let matched = 0;
  for (let at = begin; at < end;) {
    const isEscape = text[at] === '\\';
    const size = !isEscape ? 1 : text[at + 1] === 'u' ? 6 : 2;
    const code = isEscape ? parseInt(text.slice(at + 2, at + size), 16) : text.charCodeAt(at);
    const folded = foldedForms[code] ?? fold(code);
    if (!name.startsWith(folded, matched)) return false;
    matched += folded.length;
    at += size;
  }
  return matched === name.length;
}

function eachMember(text: string, depthMax: number, onMember: (path: Path) => void): void {
  eachName(text, depthMax, (path, open, end) => {
    path[path.length - 1] = JSON.parse(text.slice(open, end)) as string;
    onMember(path);
  });
}

/** @param onName gets the place of the name with its quotes, and the path, whose last part it may set. */
function eachName(
  text: string,
  depthMax: number,
  onName: (path: (string | number)[], open: number, end: number) => void,
): void {
  const path: (string | number)[] = [];
  let isName = false;
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '"': {
        const open = at++;
        while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
        if (isName && path.length <= depthMax) onName(path, open, at + 1);
        isName = false;
        break;
      }
      case '{':
        path.push('');
        isName = true;
        break;
      case '[':
        path.push(0);
        break;
      case '}':
      case ']':
        path.pop();
        break;
      case ',': {
        const last = path.at(-1);
        isName = typeof last === 'string';
        if (typeof last === 'number') path[path.length - 1] = last + 1;
        break;
      }
    }
  }
}
