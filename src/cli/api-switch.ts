/** `signalbox api enable` and `api disable`: the switch of the Public API. */
import type { Command } from 'commander';
import { describeCommand, withSettings } from './command.js';
import type { Io } from './io.js';
import { operate } from './operate.js';

const switches = {
  enable: {
    enabled: true,
    effect: 'Lets bots use the Public API again.',
    text: 'The Public API is enabled.',
  },
  disable: {
    enabled: false,
    effect:
      'Refuses all requests to /api/v1/* and the making of API keys with 503 public_api_disabled. ' +
      'Terminals stay connected, and what was accepted before is still carried out.',
    text: 'The Public API is disabled: /api/v1/* answers 503, and no API keys are made.',
  },
} as const;

export function apiSwitchCommand(io: Io, word: keyof typeof switches): Command {
  const { enabled, effect, text } = switches[word];
  return describeCommand({
    usage: word,
    summary: `${word} the Public API`,
    description: `${effect} The switch has taken effect when the command ends, and outlives restarts.`,
    examples: [`signalbox api ${word}`],
  }).action(
    withSettings(io, (settings) =>
      operate(io, settings, 'api.set', { enabled }, () => ({
        ok: true,
        json: { publicApiEnabled: enabled },
        text,
      })),
    ),
  );
}
