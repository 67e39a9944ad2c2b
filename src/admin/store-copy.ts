/** A command's use of a copy of the store, which the owner of the data directory makes for it. */
import { join } from 'node:path';
import { isStagingName } from '../store/staged-copy.js';
import { type CallerSettings, type NotPerformed, perform, type PerformOptions } from './client.js';
import type { Refusal } from './operation.js';

/**
 * Has a copy made and passes the directory that holds it to `use`. The copy is removed when `use` has
 * ended, also by a throw or with this process. @returns what `use` gave, or why there is no copy.
 */
export async function withStoreCopy<T>(
  settings: CallerSettings,
  use: (directory: string) => Promise<T>,
  warn?: PerformOptions['warn'],
): Promise<{ readonly used: T } | Refusal | NotPerformed> {
  let used: { readonly used: T } | undefined;
  let endRows = (): void => undefined;
  const ended = new Promise<void>((resolve) => (endRows = resolve));
  const result = await perform(
    settings,
    'store.copy',
    {},
    {
      async onRow(row) {
        const { staging } = row as { readonly staging: unknown };
        if (!isStagingName(staging)) throw new Error('the gateway names no copy of its store');
        used = { used: await use(join(settings.dataDir, staging)) };
        endRows();
      },
      rows: emptyAfter(ended),
      ...(warn && { warn }),
    },
  );
  if ('refused' in result) return result;
  if (used === undefined) throw new Error('the gateway made no copy of its store');
  return used;
}

function emptyAfter(ended: Promise<void>): AsyncIterable<never> {
  const next = (): Promise<IteratorResult<never>> =>
    ended.then(() => ({ done: true, value: undefined }));
  return { [Symbol.asyncIterator]: () => ({ next }) };
}
