/** `signalbox demo`: the whole of it on one machine, played once, then left running. */
import type { Command } from 'commander';
import { createBotClient } from '../client/bot-client.js';
import {
  createKey,
  currencyDesk,
  email,
  futuresDesk,
  logIn,
  openTerminal,
  prepareUser,
  temporaryDataDir,
} from '../demo/cast.js';
import { invitation } from '../demo/invitation.js';
import { play } from '../demo/play.js';
import { createJsonScreen, createScreen, type Screen } from '../demo/screen.js';
import { systemClock } from '../lib/clock.js';
import type { Settings } from '../settings.js';
import { StartRefused } from '../store/refusal.js';
import { createLog } from '../telemetry/log.js';
import type { PaperTerminal } from '../terminal/paper-terminal.js';
import { describeCommand, exitCodes, settingsFor, type SharedOptions } from './command.js';
import { createEnding } from './ending.js';
import type { Io } from './io.js';

interface Options extends SharedOptions {
  readonly once?: boolean;
}

/** The operator's own gateway may have the usual ports. */
const anyFreePorts = { port: '0', opsPort: '0' };

export function demoCommand(io: Io): Command {
  return describeCommand({
    usage: 'demo',
    summary: 'play a bot, a gateway and two terminals on this machine',
    description:
      'Starts a gateway, a user with an API key, and a paper terminal of each family; then a bot ' +
      'sends signals, cancels one order and follows the events, all over real sockets. Each step is ' +
      'checked and shown with its time. Without --data-dir everything is in a temporary directory ' +
      'that is removed at the end.',
    examples: ['signalbox demo', 'signalbox demo --once', 'signalbox demo --data-dir ./demo'],
    settings: ['dataDir', 'port', 'opsPort'],
    defaults: { dataDir: 'a temporary directory', port: 'any free port', opsPort: 'any free port' },
  })
    .option('--once', 'end after one round; exit code 0 only if every step was verified')
    .action(async (options: Options) => {
      const temporary = options.dataDir === undefined ? temporaryDataDir() : undefined;
      const settings = settingsFor(io, {
        ...anyFreePorts,
        ...options,
        ...(temporary === undefined ? {} : { dataDir: temporary.path }),
      });
      if (settings !== undefined) io.exitCode(await demo(io, settings, options));
      temporary?.remove();
    });
}

async function demo(
  io: Io,
  settings: Settings,
  { once: isOnce = false, json = false }: Options,
): Promise<number> {
  const ending = createEnding();
  let isStopped = false as boolean;
  const stopped = ending.wait().then(() => void (isStopped = true));
  const screen = (json ? createJsonScreen : createScreen)({
    clock: systemClock,
    write: (text) => io.stdout(text),
    isStopped: () => isStopped,
  });
  screen.line('\nSignalbox: a bot, a gateway and two terminals, all on this machine\n');
  try {
    await perform(settings, screen, isOnce ? undefined : stopped);
    return exitCodes.done;
  } catch (error) {
    if (error instanceof StartRefused) io.stderr(`${error.message}\n`);
    screen.line(
      isStopped
        ? '\nThe demo was stopped before its last step.'
        : '\nThe demo ends here, because the last step failed.',
    );
    return exitCodes.refused;
  } finally {
    ending.end(exitCodes.done);
  }
}

/** @param stopped until when the gateway runs on after the last step; undefined to end with it. */
async function perform(
  settings: Settings,
  screen: Screen,
  stopped: Promise<void> | undefined,
): Promise<void> {
  // Only here, so that the help of all commands does without the gateway.
  const { createGateway } = await import('../gateway.js');
  const password = await screen.step(`a user ${email} is made`, () =>
    prepareUser(settings.dataDir),
  );
  const gateway = await screen.step('the gateway starts', async (say) => {
    const started = await createGateway(settings, createLog('warn'));
    say(`API ${started.url}   ops ${started.opsUrl}`);
    return started;
  });
  const { url, opsUrl } = gateway;
  const terminals: PaperTerminal[] = [];
  try {
    const { token, sessionToken } = await screen.step('the user logs in', () =>
      logIn(url, password),
    );
    const apiKey = await screen.step('the user makes an API key', () => createKey(url, token));
    for (const source of [futuresDesk, currencyDesk]) {
      const title = `a paper terminal connects as ${source.platform}, ${source.accountName}`;
      terminals.push(await screen.step(title, () => openTerminal(url, sessionToken, source)));
    }
    const requestId = await play(createBotClient({ baseUrl: url, apiKey }), screen);
    screen.line(`\nAll ${screen.stepCount} steps were verified.`);
    if (stopped === undefined) return;
    screen.line(invitation(url, opsUrl, apiKey, requestId));
    await stopped;
    screen.line('\nThe demo is over.');
  } finally {
    await Promise.all(terminals.map((terminal) => terminal.stop()));
    await gateway.stop();
  }
}
