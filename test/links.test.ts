/** Every link in every page of the repository leads to a file, and every anchor to a title in it. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const root = fileURLToPath(new URL('../../', import.meta.url));
const isOurs = (name: string): boolean => !/^\.|^(node_modules|build|coverage|data)$/.test(name);
const pages = pagesIn(root);

t.test('every link leads to a file of the repository, and to a title in it', async (t) => {
  const links = pages.flatMap((page) => linksOf(page).map((target) => ({ page, target })));
  t.ok(links.length > 50, `${links.length} links`);
  for (const { page, target } of links) {
    t.notOk(isBroken(page, target), `${relative(root, page)}: ${target}`);
  }
});

t.test('a link to nowhere is seen', async (t) => {
  const page = join(root, 'README.md');
  t.ok(isBroken(page, 'ops/nothing.md'));
  t.ok(isBroken(page, 'ops/runbook.md#nothing'));
  t.ok(isBroken(page, '#nothing'));
  t.notOk(isBroken(page, '#two-commands'));
});

function pagesIn(directory: string): string[] {
  return readdirSync(directory)
    .filter(isOurs)
    .flatMap((name) => {
      const path = join(directory, name);
      if (name.endsWith('.md')) return [path];
      return isDirectory(path) ? pagesIn(path) : [];
    });
}

function isDirectory(path: string): boolean {
  return statSync(path).isDirectory();
}

/** Targets within the repository, without those in code. */
function linksOf(page: string): string[] {
  const targets = [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return targets.filter((target) => !/^[a-z]+:/.test(target));
}

function isBroken(page: string, target: string): boolean {
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? page : join(dirname(page), decodeURIComponent(path));
  if (!existsSync(file)) return true;
  return anchor !== undefined && !anchorsOf(file).includes(anchor);
}

function anchorsOf(page: string): string[] {
  return [...textOf(page).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => anchorOf(title));
}

/** @returns the anchor as GitHub makes it: lower case, without punctuation, with hyphens for spaces. */
function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');
}

/** @returns the page without code, in which hashes and brackets have other meanings; titles keep theirs. */
function textOf(page: string): string {
  return readFileSync(page, 'utf8')
    .replaceAll(/^( *)```[\s\S]*?^ *```$/gm, '')
    .replaceAll(/`([^`\n]*)`/g, (_all, code: string) => code.replaceAll(/[[\]()]/g, ''));
}
