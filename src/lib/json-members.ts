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

function eachMember(text: string, depthMax: number, onMember: (path: Path) => void): void {
  const path: (string | number)[] = [];
  let isName = false;
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '"': {
        const open = at++;
        while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
        if (isName && path.length <= depthMax) {
          path[path.length - 1] = JSON.parse(text.slice(open, at + 1)) as string;
          onMember(path);
        }
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
