/**
 * Lists the names of an object's members in a JSON text. JSON.parse keeps the last of two members with one name; who
 * reads the text elsewhere may keep the first, or tell no upper case from lower.
 */

/** @param text an object that JSON.parse accepts. @returns a name as often as it occurs, in the text's order. */
export function memberNames(text: string): string[] {
  const names: string[] = [];
  let level = 0;
  let isName = false;
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '"': {
        const open = at++;
        while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
        if (isName) names.push(JSON.parse(text.slice(open, at + 1)) as string);
        isName = false;
        break;
      }
      case '{':
        level++;
        isName = level === 1;
        break;
      case '[':
        level++;
        break;
      case '}':
      case ']':
        level--;
        break;
      case ',':
        isName = level === 1;
        break;
    }
  }
  return names;
}
