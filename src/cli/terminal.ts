/**
 * `signalbox terminal`: a paper terminal at the operator's prompt. Prints what happens at it until
 * the operator stops it or the gateway sends it away. Its credential comes from the environment,
 * standard input or a question, never from an argument: those show in the list of processes.
 */
import { createInterface } from 'node:readline';
import { Command, InvalidArgumentError, Option } from 'commander';
import { longestDelayMs, systemClock, toIsoTime } from '../lib/clock.js';
import { activityLine } from '../terminal/activity-line.js';
import { JournalRefused } from '../terminal/journal-file.js';
import { partialFillsMax } from '../terminal/order-request.js';
import {
  createPaperTerminal,
  type Activity,
  type PaperTerminal,
} from '../terminal/paper-terminal.js';
import { parsePriceLine } from '../terminal/price-feed.js';
import { gatewayUrlForm, isGatewayUrl, logIn } from '../terminal/session-login.js';
import { exitCodes, fail, misused, refused } from './command.js';
import { createEnding } from './ending.js';
import type { Io } from './io.js';
import { askPassword, readPasswordInput } from './password-input.js';
import { wholeNumber } from './whole-number.js';

interface TerminalOptions {
  readonly url: string;
  readonly platform: string;
  readonly instance: string;
  readonly account: string;
  readonly tokenEnv: string;
  readonly email?: string;
  readonly passwordStdin?: boolean;
  readonly journal?: string;
  readonly seed: number;
  readonly tickMs?: number;
  readonly partialFills: number;
  readonly prices: 'walk' | 'stdin';
  readonly json?: boolean;
}

const walkTickMs = 1_000;

export function terminalCommand(io: Io): Command {
  return new Command('terminal')
    .summary('run a paper terminal')
    .description(
      'Connects a paper terminal to a gateway: the reference plugin with a small simulated broker ' +
        'behind it, which takes order/submit, position/close and account/flatten as in src/plugins/COMMANDS.md. ' +
        'Prints what happens until SIGINT or SIGTERM. If the gateway goes away, it waits and connects again.',
    )
    .requiredOption('--platform <token>', 'terminal family, such as terminal_a')
    .requiredOption('--instance <id>', 'instanceId: tells your computers or terminals apart')
    .requiredOption(
      '--account <name>',
      'account name; for terminal_b in the form ACCOUNT_LOGIN@ACCOUNT_SERVER',
    )
    .option('--url <url>', 'URL of the gateway', gatewayUrl, 'http://127.0.0.1:8080')
    .option(
      '--token-env <name>',
      'environment variable with the session token from login',
      'SIGNALBOX_SESSION_TOKEN',
    )
    .option('--email <email>', 'log in as this user instead; the password is asked for')
    .option('--password-stdin', 'read the password from standard input (or set SIGNALBOX_PASSWORD)')
    .option('--journal <dir>', 'directory that keeps commands and reports over restarts')
    .option('--seed <n>', 'the same seed repeats the same prices', wholeNumber(0, 2 ** 32 - 1), 1)
    .option(
      '--tick-ms <n>',
      `milliseconds between two prices; 0: prices stand still (default: ${walkTickMs})`,
      wholeNumber(0, longestDelayMs),
    )
    .option(
      '--partial-fills <n>',
      'fill each order in this many pieces',
      wholeNumber(1, partialFillsMax),
      1,
    )
    .addOption(
      new Option('--prices <source>', 'stdin: take prices from lines such as "ES 5001.25"')
        .choices(['walk', 'stdin'])
        .default('walk'),
    )
    .option('--json', 'print JSON lines for programs instead of text')
    .addHelpText('after', helpText)
    .action((options: TerminalOptions, command: Command) => run(io, options, command));
}

const helpText = `
Exit codes: 0 stopped by SIGINT or SIGTERM; 1 refused by the gateway, or failed; 2 wrong usage.

Examples:
  Log in and trade on paper; the password is asked for:
  $ signalbox terminal --platform terminal_a --instance desk-1 --account Sim101 --email ann@example.com

  With the session token of an earlier login, a journal, and fills in three pieces:
  $ export SIGNALBOX_SESSION_TOKEN=...
  $ signalbox terminal --platform terminal_b --instance desk-1 --account 5001@Paper-1 \\
      --journal ./journal --partial-fills 3

  With prices that you decide:
  $ printf 'ES 5000\\nES 4990\\n' | signalbox terminal --platform terminal_a --instance desk-1 \\
      --account Sim101 --prices stdin`;

async function run(io: Io, options: TerminalOptions, command: Command): Promise<void> {
  const { journal, seed, partialFills, prices, url } = options;
  const tickMs = options.tickMs ?? (prices === 'stdin' ? 0 : walkTickMs);
  const token = await sessionToken(io, options, command);
  if (token === undefined) return;

  const print = printer(io, options);
  const ending = createEnding();
  let terminal: PaperTerminal;
  try {
    terminal = createPaperTerminal({
      url,
      token: () => token,
      source: {
        platform: options.platform,
        instanceId: options.instance,
        accountName: options.account,
      },
      clock: systemClock,
      observer(activity) {
        print(activity);
        if (activity.kind === 'refused') ending.end(exitCodes.refused);
      },
      seed,
      tickMs,
      partialFills,
      ...(journal === undefined ? {} : { journalDir: journal }),
    });
  } catch (error) {
    if (!(error instanceof JournalRefused)) throw error;
    return fail(io, misused(error.message, 'journal_refused'), options);
  }

  terminal.start();
  if (prices === 'stdin') readPrices(io, terminal);
  io.exitCode(await ending.wait());
  await terminal.stop();
  if (prices === 'stdin') io.stdin().destroy();
}

/** @returns undefined after having said why there is none. */
async function sessionToken(
  io: Io,
  { url, email, tokenEnv, passwordStdin, prices, json }: TerminalOptions,
  command: Command,
): Promise<string | undefined> {
  if (email === undefined) {
    const token = io.env[tokenEnv]?.trim() ?? '';
    if (token !== '') return token;
    return command.error(
      `error: there is no session token in the environment variable ${tokenEnv}. Put one there, or log in with --email.`,
    );
  }
  if (passwordStdin === true && prices === 'stdin') {
    return command.error(
      'error: --password-stdin and --prices stdin both read standard input. Give the password in SIGNALBOX_PASSWORD.',
    );
  }
  const password = await readPassword(io, passwordStdin === true);
  if (password === undefined || password === '') {
    return command.error(
      'error: there is no password. Set SIGNALBOX_PASSWORD, use --password-stdin, or run the command in a terminal, which asks for it.',
    );
  }
  const login = await logIn({ url, email, password });
  if (login.ok) return login.sessionToken;
  fail(io, refused('login_refused', login.message), { json });
  return undefined;
}

async function readPassword(io: Io, isFromStdin: boolean): Promise<string | undefined> {
  const isTyped = io.stdin().isTTY === true;
  if (isFromStdin) return isTyped ? askPassword(io) : readPasswordInput(io);
  const given = io.env['SIGNALBOX_PASSWORD'];
  if (given !== undefined) return given;
  return isTyped ? askPassword(io) : undefined;
}

function readPrices(io: Io, terminal: PaperTerminal): void {
  const lines = createInterface({ input: io.stdin() });
  lines.on('line', (line) => {
    if (line.trim() === '') return;
    const price = parsePriceLine(line);
    if (price !== undefined && terminal.setPrice(price.symbol, price.price)) return;
    io.stderr(
      `This line is not a price of a known instrument: ${JSON.stringify(line.slice(0, 80))}\n`,
    );
  });
}

function printer(io: Io, { json }: TerminalOptions): (activity: Activity) => void {
  return (activity) => {
    const now = systemClock.now();
    const line =
      json === true
        ? JSON.stringify({ time: toIsoTime(now), ...activity })
        : activityLine(activity, now);
    io.activity(`${line}\n`);
  };
}

function gatewayUrl(text: string): string {
  if (isGatewayUrl(text)) return text;
  throw new InvalidArgumentError(`It must be ${gatewayUrlForm}.`);
}
