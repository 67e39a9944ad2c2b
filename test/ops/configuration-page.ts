/**
 * The tables of ops/configuration.md, made from the settings: `configuration-page.program` writes them
 * into the page, and the test beside it holds the page against them.
 */
import { exitCodes } from '../../src/cli/command.js';
import { shippedPlatforms } from '../../src/platforms.js';
import { configFile, settingNames, settingsTable } from '../../src/settings/table.js';
import { table, type PageTables } from './page-tables.js';

export const pageFile = new URL('../../../ops/configuration.md', import.meta.url);

/** Every table by the name that stands in the page's marks. */
export function pageTables(): PageTables {
  return {
    settings: table(
      ['Flag', 'Environment', 'Config file', 'Default', 'What it is', 'What it may be'],
      [
        ...settingNames.map((name) => {
          const { flag, environment, inFile, fallback, description, kind } = settingsTable[name];
          return [
            code(flag),
            code(environment),
            code(inFile ? name : null),
            code(shown(fallback)),
            description,
            kind.expected,
          ];
        }),
        [
          code(configFile.flag),
          code(configFile.environment),
          '',
          '',
          configFile.description,
          'a path',
        ],
      ],
    ),
    platforms: table(
      ['Token', 'Account names'],
      shippedPlatforms.map(({ token, account }) => [code(token), code(account)]),
    ),
    exits: table(
      ['Exit code', 'Meaning'],
      Object.entries(exitMeanings).map(([name, meaning]) => [
        `${exitCodes[name as keyof typeof exitCodes]}`,
        meaning,
      ]),
    ),
  };
}

const exitMeanings: Readonly<Record<keyof typeof exitCodes, string>> = {
  done: 'asked to stop, and drained',
  refused: 'it cannot start (a port or the data directory is in use), or it failed',
  usage: 'a setting is wrong: standard error names each; starting again does not help',
};

function code(text: string | null): string {
  return text === null || text === '' ? '' : `\`${text}\``;
}

function shown(fallback: string | number | readonly string[] | undefined): string {
  return [fallback ?? []].flat().join(',');
}
