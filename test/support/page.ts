/**
 * A page of the documentation as a reader takes it: its blocks of commands, each with the output that
 * the page shows right below it. In what is shown, `…` stands for what differs from run to run.
 *
 * - `text`: all of the output.
 * - `json`: the output as JSON, in whatever line breaks.
 * - `http`: the status line, some of the headers, and the body.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Test } from 'tap';
import type { Shell } from './shell.js';

export interface Block {
  readonly language: string;
  readonly text: string;
  /** Output that the page shows for it. */
  readonly shown?: Shown;
}

export type Shown = Pick<Block, 'language' | 'text'>;

/** @returns all blocks but those that are another's output. */
export function blocksOf(page: string): Block[] {
  const found = [...page.matchAll(/^( *)```(\w+)\n([\s\S]*?)^ *```$/gm)].map((match) => {
    const [whole, indent = '', language = '', text = ''] = match;
    return {
      language,
      text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      start: match.index,
      end: match.index + whole.length,
    };
  });
  const blocks: Block[] = [];
  for (const [index, { language, text, start }] of found.entries()) {
    const before = found[index - 1];
    const isOutput =
      before !== undefined &&
      Object.hasOwn(comparisons, language) &&
      page.slice(before.end, start).trim() === '';
    const command = blocks.at(-1);
    if (isOutput && command !== undefined) {
      blocks[blocks.length - 1] = { ...command, shown: { language, text } };
    } else blocks.push({ language, text });
  }
  return blocks;
}

/**
 * Runs the blocks of shell and of JavaScript one after the other, and compares what is shown.
 * @param edit what the test changes in a block before it runs, such as an address.
 */
export async function play(
  t: Test,
  blocks: readonly Block[],
  shell: Shell,
  edit: (text: string) => string,
): Promise<void> {
  for (const [index, block] of blocks.entries()) {
    let commands = edit(block.text);
    if (block.language !== 'sh') {
      const file = `program-${index}.mjs`;
      writeFileSync(join(shell.directory, file), commands);
      commands = `'${process.execPath}' ${file}`;
    }
    const { ok, output } = await shell.run(commands);
    t.ok(ok, `${block.text}${output}`);
    if (!ok) return;
    if (block.shown !== undefined) t.same(differences(block.shown, output), [], block.text);
  }
}

/** @returns how the output differs from what the page shows; empty when it does not. */
export function differences(shown: Shown, output: string): string[] {
  const compare = comparisons[shown.language as keyof typeof comparisons];
  return compare(shown.text.trim(), output.replaceAll('\r', '').trim());
}

const comparisons = { text: compareText, json: compareJson, http: compareHttp };

function compareHttp(shown: string, output: string): string[] {
  const [shownHead, shownBody] = headAndBody(shown);
  const [head, body] = headAndBody(output);
  const lines = head.split('\n');
  const missing = shownHead
    .split('\n')
    .filter((wanted) => !lines.some((line) => compareText(wanted, line).length === 0));
  if (missing.length > 0) return [`missing: ${missing.join(' | ')}; there is: ${output}`];
  return shownBody.startsWith('{') ? compareJson(shownBody, body) : compareText(shownBody, body);
}

function headAndBody(answer: string): [string, string] {
  const [head = '', ...body] = answer.split('\n\n');
  return [head, body.join('\n\n').trim()];
}

function compareText(shown: string, output: string): string[] {
  const pattern = shown.split('…').map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  if (new RegExp(`^${pattern.join('.*')}$`).test(output)) return [];
  return [`shown: ${shown}\nthere is: ${output}`];
}

function compareJson(shown: string, output: string): string[] {
  try {
    return compareValues('', JSON.parse(shown), JSON.parse(output));
  } catch (error) {
    return [`${String(error)}: ${output}`];
  }
}

function compareValues(place: string, shown: unknown, actual: unknown): string[] {
  if (typeof shown === 'string' && shown.includes('…')) {
    return compareText(shown, String(actual)).map((words) => `${place}: ${words}`);
  }
  if (!isBranch(shown) || !isBranch(actual)) {
    if (isDeepStrictEqual(shown, actual)) return [];
    return [`${place}: shown ${JSON.stringify(shown)}, there is ${JSON.stringify(actual)}`];
  }
  return [...new Set([...Object.keys(shown), ...Object.keys(actual)])].flatMap((key) =>
    compareValues(`${place}.${key}`, shown[key], actual[key]),
  );
}

function isBranch(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
