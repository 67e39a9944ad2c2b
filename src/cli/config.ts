/** `signalbox config`: the settings in force and where they come from, secrets masked. */
import type { Command } from 'commander';
import { limitNames, limits as limitTable } from '../limits.js';
import { type Settings, settingOrigins } from '../settings.js';
import { flaggedSettings, settingNames, settingsTable } from '../settings/table.js';
import { columns } from '../lib/columns.js';
import { describeCommand, type SharedOptions, sourcesOf, withSettings } from './command.js';
import type { Io } from './io.js';
import { yesOrNo } from './user-text.js';

const mask = '(hidden)';
/** A gateway that is given no secret makes one. */
const ownSecret = '(in the data directory)';

export function configCommand(io: Io): Command {
  return describeCommand({
    usage: 'config',
    summary: 'show the settings in force',
    description:
      'Shows every setting, limit, plan and platform that "signalbox serve" would start with when ' +
      'given the same flags, and where each setting comes from. A flag overrides an ' +
      'environment variable, which overrides the config file, which overrides the default.',
    examples: ['signalbox config', 'signalbox config --config signalbox.json --json'],
    settings: flaggedSettings,
  }).action(
    withSettings(
      io,
      (settings, options: SharedOptions) => {
        const text = toText(io, settings, options);
        return { ok: true, json: toJson(settings), text };
      },
      'all',
    ),
  );
}

function toJson(settings: Settings): object {
  const { limits, plans, platforms } = settings;
  const own = settingNames.map((name): [string, unknown] => {
    const value = settings[name];
    return [name, value !== undefined && settingsTable[name].secret ? mask : (value ?? null)];
  });
  return { ...(Object.fromEntries(own) as object), limits, plans, platforms };
}

function toText(io: Io, settings: Settings, options: SharedOptions): string {
  const origins = settingOrigins(sourcesOf(io, options));
  const settingRows = settingNames.map((name) => {
    const value: string = [settings[name] ?? []].flat().join(',');
    const [absent, given] = settingsTable[name].secret ? [ownSecret, mask] : ['none', value];
    return [name, value === '' ? absent : given, origins[name]];
  });
  const limitRows = limitNames.map((name) => {
    const { value: usual, unit } = limitTable[name];
    const value = settings.limits[name];
    return [name, `${value}`, value === usual ? unit : `${unit} (default ${usual})`];
  });
  const planRows = Object.entries(settings.plans).map(([name, plan]) => [
    name,
    yesOrNo(plan.publicApi),
    `${plan.signalsPerMinute}`,
    `${plan.signalsPerDay}`,
  ]);
  const platformRows = settings.platforms.map(({ token, account }) => [token, account]);
  return [
    columns([['SETTING', 'VALUE', 'FROM'], ...settingRows]),
    columns([['LIMIT', 'VALUE', 'UNIT'], ...limitRows]),
    columns([['PLAN', 'PUBLIC API', 'SIGNALS A MINUTE', 'SIGNALS A DAY'], ...planRows]),
    columns([['PLATFORM', 'ACCOUNT NAME'], ...platformRows]),
  ].join('\n\n');
}
