/** `signalbox api enable` and `api disable`: the switch of the Public API. */
import type { Command } from 'commander';
import { setPublicApi } from '../auth/accounts.js';
import { describeCommand, type SharedOptions } from './command.js';
import { onStore } from './on-store.js';

export function apiEnableCommand(): Command {
  return switchCommand('enable', true, 'The Public API is enabled.');
}

export function apiDisableCommand(): Command {
  return switchCommand(
    'disable',
    false,
    'The Public API is disabled: /api/v1/* answers 503, and no API keys are made.',
  );
}

function switchCommand(word: string, enabled: boolean, text: string): Command {
  const effect = enabled
    ? 'Lets bots use the Public API again.'
    : 'Refuses all requests to /api/v1/* and the making of API keys with 503 public_api_disabled. ' +
      'Terminals stay connected, and what was accepted before is still carried out.';
  return describeCommand({
    usage: word,
    summary: `${word} the Public API`,
    description: `${effect} A running gateway obeys at once; the switch outlives restarts.`,
    examples: [`signalbox api ${word}`],
  }).action((options: SharedOptions) =>
    onStore(options, async ({ store }) => {
      await setPublicApi(store, enabled);
      return { ok: true, json: { publicApiEnabled: enabled }, text };
    }),
  );
}
