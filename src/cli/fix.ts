/**
 * `signalbox fix`: the terminal that trades at a venue by FIX. Prints what happens at it until the operator stops
 * it, or the gateway or the venue sends it away for good. Passwords come from the environment: arguments show in
 * the list of processes, and files are copied.
 */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { signingFault } from '../fix/credentials.js';
import { readFixConfig, type FixConfig } from '../fix/fix-config.js';
import { fixJson, fixLine } from '../fix/fix-line.js';
import {
  createFixTerminal,
  type FixTerminal,
  type FixTerminalNotice,
} from '../fix/fix-terminal.js';
import { systemClock } from '../lib/clock.js';
import { errorText } from '../lib/error-text.js';
import { printable } from '../lib/printable.js';
import { JournalRefused, logIn } from '../terminal/plugin.js';
import { exitCodes, fail, misused, refused } from './command.js';
import { createEnding } from './ending.js';
import type { Io } from './io.js';

interface FixOptions {
  readonly config: string;
  readonly check?: boolean;
  readonly json?: boolean;
}

const passwords = { gateway: 'SIGNALBOX_PASSWORD', venue: 'SIGNALBOX_FIX_PASSWORD' } as const;

export function fixCommand(io: Io): Command {
  return new Command('fix')
    .summary('trade at a venue by FIX 4.4 or 4.2')
    .description(
      'Connects a venue to a gateway: a terminal plugin that is the initiator of a FIX session. It sends each ' +
        'order at most once, and remembers in its state directory what it sent. Prints what happens until SIGINT ' +
        'or SIGTERM. If the gateway or the venue goes away, the command waits and connects again.',
    )
    .requiredOption(
      '--config <file>',
      'the configuration of the session, described in ops/terminals.md',
    )
    .option('--check', 'check the file, log on to both sides, and end')
    .option('--json', 'print JSON lines for programs instead of text')
    .addHelpText('after', helpText)
    .action((options: FixOptions) => run(io, options));
}

const helpText = `
Environment: ${passwords.gateway}, the password of the user at the gateway; ${passwords.venue}, the password,
secret or private key of the FIX session, if it has one.

Exit codes: 0 stopped by SIGINT or SIGTERM, with --check logged on to both sides; 1 refused by the gateway or the
venue, failed, or a check that was stopped; 2 wrong usage or configuration.

Examples:
  $ export ${passwords.gateway}=... ${passwords.venue}=...
  $ signalbox fix --config fix.json --check
  $ signalbox fix --config fix.json`;

async function run(io: Io, options: FixOptions): Promise<void> {
  const { config: path, check = false, json = false } = options;
  const config = readConfig(io, options);
  if (config === undefined) return;
  const { tlsCa } = config.session;
  const ca = tlsCa === undefined ? undefined : readText(io, tlsCa, options);
  if (ca === null) return;
  const passed = (checked: string): void => {
    if (check)
      io.stdout(json ? `${JSON.stringify({ passed: checked })}\n` : `ok      ${checked}\n`);
  };
  const secret = io.env[passwords.venue];
  const fault = signingFault(config.venue.credentials, { ...config.session, secret });
  if (fault !== undefined) {
    const message = `${passwords.venue} does not hold the key that signs the logon: ${fault}.`;
    return fail(io, misused(message, 'no_private_key'), options);
  }
  passed(path);

  const { url, email } = config.gateway;
  const password = io.env[passwords.gateway] ?? '';
  if (password === '') {
    const message = `${passwords.gateway} is not set. It must hold the password of ${email} at the gateway.`;
    return fail(io, misused(message, 'no_password'), options);
  }
  const login = await logIn({ url, email, password });
  if (!login.ok) {
    const message = `${login.message} The password is taken from ${passwords.gateway}.`;
    return fail(io, refused('login_refused', message), options);
  }
  passed(`gateway ${url} as ${email}`);

  const print = check ? () => undefined : printer(io, json);
  const ending = createEnding();
  let isLoggedOn = false as boolean;
  let terminal: FixTerminal;
  try {
    terminal = createFixTerminal({
      config,
      ca,
      secret,
      token: () => login.sessionToken,
      isCheck: check,
      clock: systemClock,
      onNotice(notice) {
        print(notice);
        const failed = check ? checkFailure(notice) : endMessage(notice);
        if (failed !== undefined) {
          // The text is the venue's or the gateway's.
          fail(io, refused('terminal_ended', printable(failed)), options);
          ending.end(exitCodes.refused);
        } else if (check && notice.kind === 'fix_logged_on') {
          isLoggedOn = true;
          ending.end(exitCodes.done);
        }
      },
    });
  } catch (error) {
    if (!(error instanceof JournalRefused)) throw error;
    return fail(io, misused(error.message, 'journal_refused'), options);
  }
  terminal.start();
  const exitCode = await ending.wait();
  await terminal.stop();
  io.exitCode(exitCode);
  if (exitCode !== exitCodes.done) return;
  const venue = `venue ${config.session.host}:${config.session.port}`;
  if (isLoggedOn) return passed(`${venue}, logged on and out`);
  if (!check) return;
  const message = `The check was stopped before the ${venue} had taken the logon. Run it again, and give it more time.`;
  fail(io, refused('check_stopped', message), options);
}

function endMessage(notice: FixTerminalNotice): string | undefined {
  return notice.kind === 'fix_ended' || notice.kind === 'refused' ? notice.message : undefined;
}

/** A check does not wait for a venue to come back. */
function checkFailure(notice: FixTerminalNotice): string | undefined {
  return notice.kind === 'fix_lost'
    ? `No logon at the venue: ${notice.message}.`
    : endMessage(notice);
}

function printer(io: Io, isJson: boolean): (notice: FixTerminalNotice) => void {
  const format = isJson ? fixJson : fixLine;
  return (notice) => io.activity(`${format(notice, systemClock.now())}\n`);
}

function readConfig(io: Io, options: FixOptions): FixConfig | undefined {
  const { config: path } = options;
  const content = readText(io, path, options);
  if (content === null) return undefined;
  const config = readFixConfig(content);
  if (!Array.isArray(config)) return config;
  const message = [`The configuration ${path} cannot be used.`, ...config].join('\n');
  fail(io, misused(message, 'invalid_configuration'), options);
  return undefined;
}

function readText(io: Io, path: string, options: FixOptions): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const message = `The file ${path} cannot be read: ${errorText(error)}.`;
    fail(io, misused(message, 'file_unreadable'), options);
    return null;
  }
}
