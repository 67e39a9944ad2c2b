/**
 * `signalbox conformance`: plays the gateway for a plugin under test and judges it rule by rule. The credentials
 * that it prints are its own, for this run, and open nothing else.
 */
import { Command, InvalidArgumentError, Option } from 'commander';
import { openJudge, rules, type RuleName, type Verdict } from '../conformance/judge.js';
import { systemClock } from '../lib/clock.js';
import { errorText } from '../lib/error-text.js';
import { randomSecret } from '../lib/ids.js';
import { keptAlive } from '../lib/kept-alive.js';
import { printable } from '../lib/printable.js';
import { helloTimeoutMs } from '../plugins/protocol.js';
import { exitCodes, examplesText, fail, refused } from './command.js';
import type { Io } from './io.js';
import { wholeNumber } from './whole-number.js';

interface ConformanceOptions {
  readonly host: string;
  readonly port: number;
  readonly instrument: string;
  readonly quantity: number;
  readonly limitPrice: number;
  readonly fillPrice?: number;
  readonly rule?: readonly RuleName[];
  readonly answerS: number;
  readonly connectS: number;
  readonly json?: boolean;
}

/** Reports that a plugin must hold: what it may send at once after an hour without a connection. */
const backlog = 2_000;

/** A plugin that reconnects is back by then, also after the Retry-After of 5 seconds. */
const awayMs = 8_000;

const passwordName = 'SIGNALBOX_PASSWORD';
const ruleNames = Object.keys(rules) as RuleName[];

const helpText = `${examplesText([
  'signalbox conformance --port 8090',
  'signalbox conformance --instrument EURUSD --quantity 0.01 --limit-price 0.5 --json',
  'signalbox conformance --port 8090 --rule cancel cancel_repeated',
])}

Environment: ${passwordName}, the password that the plugin will give; without it, a password is made and printed.

A plugin may stop when a rule closes its connection for good. Start it again then: the tool waits for it and says so.
A supervisor that restarts the plugin must wait for at least 10 seconds. The signalId of each command names its rule, so that the plugin's log
shows it.

Rules: ${ruleNames.join(', ')}.

Exit codes: 0 every rule passed; 1 one failed, or no plugin came; 2 wrong usage.`;

export function conformanceCommand(io: Io): Command {
  return new Command('conformance')
    .summary('test a terminal plugin against the protocol')
    .description(
      'Plays the gateway for a plugin under test, on a port of its own, and judges it rule by rule: handshake, ' +
        'commands, cancels, redelivery, numbers, closes. Prints the address and the credentials for the plugin, ' +
        'and then each rule with its result and its place in PROTOCOL.md. The plugin must trade on paper: the ' +
        'tool submits orders.',
    )
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <n>', 'port to listen on; 0: any free one', wholeNumber(0, 65_535), 0)
    .option('--instrument <symbol>', 'instrument to trade', 'ES')
    .option('--quantity <n>', 'of each order', number(1e-18, 1e18), 1)
    .option('--limit-price <n>', 'price at which a buy limit order rests', number(-1e18, 1e18), 1)
    .option(
      '--fill-price <n>',
      'price at which a buy limit order fills at once, for a venue without market orders',
      number(-1e18, 1e18),
    )
    .addOption(ruleOption())
    .option('--answer-s <n>', 'seconds to wait for an answer of the plugin', number(1, 3_600), 30)
    .option('--connect-s <n>', 'seconds to wait for the plugin to connect', number(1, 86_400), 300)
    .option('--json', 'print JSON lines for programs instead of text')
    .addHelpText('after', helpText)
    .action((options: ConformanceOptions) => keptAlive(run(io, options)));
}

async function run(io: Io, options: ConformanceOptions): Promise<void> {
  const { host, port, instrument, quantity, limitPrice, fillPrice, rule: only, json } = options;
  const given = io.env[passwordName];
  const print = (value: object, text: string): void =>
    io.stdout(`${json === true ? JSON.stringify(value) : text}\n`);
  let judge;
  try {
    judge = await openJudge({
      clock: systemClock,
      host,
      port,
      only,
      password: given ?? randomSecret(12),
      instrument,
      quantity,
      limitPrice,
      fillPrice,
      answerMs: options.answerS * 1_000,
      helloMs: helloTimeoutMs,
      backlog,
      connectMs: options.connectS * 1_000,
      awayMs,
      onWaiting: () =>
        print({ waiting: true }, 'waiting for the plugin to connect: start it if it has stopped'),
    });
  } catch (error) {
    const message = `The address cannot be used: ${errorText(error)}.`;
    return fail(io, refused('address_unusable', message), options);
  }
  const { url, email, password } = judge;
  const shown = given === undefined ? { password } : {};
  print(
    { url, email, ...shown },
    `Connect the plugin to ${url}, as ${email} with the password ${shown.password ?? `in ${passwordName}`}`,
  );
  const verdicts: Verdict[] = [];
  for await (const verdict of judge.verdicts()) {
    verdicts.push(verdict);
    print(verdict, textOf(verdict));
  }
  await judge.close();
  const failures = verdicts.filter(({ result }) => result === 'fail').map(({ rule }) => rule);
  const failed = failures.length;
  const passed = verdicts.length - failed;
  const again = failed === 0 ? '' : `\nTo test only these again: --rule ${failures.join(' ')}`;
  print({ passed, failed }, `${passed} passed, ${failed} failed${again}`);
  if (failed > 0) io.exitCode(exitCodes.refused);
}

/** The reason comes from frames of the plugin. */
function textOf({ rule, says, result, why, place }: Verdict): string {
  const line = `${result}  ${rule.padEnd(20)} ${says}`;
  if (why === '') return line;
  return [line, printable(why), ...(result === 'fail' ? [`see ${place}`] : [])].join('\n      ');
}

function ruleOption(): Option {
  return new Option(
    '--rule <name...>',
    'test only these of the rules below, in their order',
  ).argParser((name: string, before: readonly RuleName[] | undefined) => {
    const known = ruleNames.find((rule) => rule === name);
    if (known === undefined)
      throw new InvalidArgumentError(
        'There is no such rule; "signalbox conformance --help" lists them.',
      );
    return [...(before ?? []), known];
  });
}

function number(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = text.trim() === '' ? NaN : Number(text);
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a number from ${min} to ${max}.`);
  };
}
