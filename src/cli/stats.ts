/** `signalbox stats`: what a running gateway does at this moment, read from its ops port. */
import { setTimeout as rest } from 'node:timers/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { toIsoTime } from '../lib/clock.js';
import { reachableHost } from '../lib/host.js';
import { type Figures, figuresOf } from '../stats/figures.js';
import { parseScrape, type Scrape } from '../stats/scrape.js';
import { statsScreen } from '../stats/screen.js';
import {
  describeCommand,
  exitCodes,
  fail,
  type Failed,
  refused,
  settingsFor,
  type SharedOptions,
} from './command.js';
import { createEnding } from './ending.js';
import type { Io } from './io.js';

interface Options extends SharedOptions {
  readonly once?: boolean;
  readonly url?: string;
}

/** As long as the gateway keeps the text of a scrape. */
const intervalMs = 1_000;
const answerTimeoutMs = 5_000;
const clearScreen = '\u001b[H\u001b[2J';

export function statsCommand(io: Io): Command {
  return describeCommand({
    usage: 'stats',
    summary: 'show what the running gateway does',
    description:
      'Shows rates, latencies and what is open, computed anew every second from the metrics of the ' +
      'ops port, until Ctrl-C. With --json it prints one line of JSON a second instead. The exit ' +
      'code is 1 if the gateway does not answer, or no longer answers.',
    examples: [
      'signalbox stats',
      'signalbox stats --once --json',
      'signalbox stats --url http://10.0.0.5:9464',
    ],
    settings: ['opsHost', 'opsPort'],
  })
    .option('--once', 'show the figures of one second, and end')
    .option(
      '--url <URL>',
      'URL of the ops port, as the ready line of "signalbox serve" gives it',
      urlOf,
    )
    .action(async (options: Options) => {
      const settings = settingsFor(io, options, 'values');
      if (settings === undefined) return;
      const { opsHost, opsPort } = settings;
      const url = options.url ?? `http://${reachableHost(opsHost)}:${opsPort}`;
      const ending = createEnding();
      try {
        const failed = await show(io, url, options, ending.wait());
        // Beside lines of JSON, an error is one as well.
        if (failed !== undefined) fail(io, failed, options, options.once ? 2 : 0);
      } finally {
        ending.end(exitCodes.done);
      }
    });
}

/** @returns why it ends, unless it was asked to. */
async function show(
  io: Io,
  url: string,
  options: Options,
  ended: Promise<unknown>,
): Promise<Failed | undefined> {
  const isOver = ended.then(() => true);
  let before = await scrape(url);
  if (before === undefined) {
    const remedy =
      'Start the gateway, or give its ops port with --ops-host and --ops-port or --url: the ready line of ' +
      '"signalbox serve" names it.';
    return refused('gateway_silent', `No gateway answers at ${url}. ${remedy}`);
  }
  while (!(await Promise.race([isOver, rest(intervalMs, false)]))) {
    const after = await scrape(url);
    if (after === undefined) {
      const message = `The gateway at ${url} no longer answers: it was stopped, or is stuck.`;
      return refused('gateway_gone', message);
    }
    const figures = figuresOf(before, after);
    // The text of an earlier scrape: there is nothing new to show yet.
    if (figures.intervalSeconds === 0) continue;
    print(io, url, figures, options);
    if (options.once) return undefined;
    before = after;
  }
  if (!options.once) return undefined;
  return refused('stopped', 'The command was stopped before it could show a second. Run it again.');
}

function print(io: Io, url: string, figures: Figures, { once, json }: Options): void {
  if (json) {
    const values = { ...figures, at: toIsoTime(Math.floor(figures.at)) };
    if (once) io.stdout(`${JSON.stringify(values, null, 2)}\n`);
    else io.activity(`${JSON.stringify(values)}\n`);
    return;
  }
  const screen = statsScreen(url, figures);
  if (once) io.stdout(`${screen}\n`);
  else io.activity(io.isTTY ? `${clearScreen}${screen}\n` : `${screen}\n\n`);
}

/** @returns undefined when nothing answers, or no gateway. */
async function scrape(url: string): Promise<Scrape | undefined> {
  try {
    const answer = await fetch(new URL('/metrics', url), {
      signal: AbortSignal.timeout(answerTimeoutMs),
      redirect: 'error',
    });
    const found = parseScrape(await answer.text());
    return answer.ok && found.size > 0 ? found : undefined;
  } catch {
    return undefined;
  }
}

function urlOf(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new InvalidArgumentError('It must be an http URL, such as http://127.0.0.1:9464.');
}
