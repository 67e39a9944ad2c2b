/** Follows the event stream of one terminal in the background and counts its events. */
import type { BotClient, TerminalEvent } from '../client/bot-client.js';
import type { SourceName } from '../model/source-name.js';

export interface Follower {
  /** Resolves with the number of events by name, once an event matches `isAwaited`. */
  until(isAwaited: (event: TerminalEvent) => boolean): Promise<ReadonlyMap<string, number>>;
  stop(): void;
}

export function follow(bot: BotClient, source: SourceName): Follower {
  const abort = new AbortController();
  const seen: TerminalEvent[] = [];
  let wake: () => void = () => undefined;
  let failure: unknown;

  async function read(): Promise<void> {
    for await (const item of bot.events(source, { signal: abort.signal })) {
      if (item.kind === 'event') seen.push(item);
      wake();
    }
  }
  read().catch((error: unknown) => {
    failure = error;
    wake();
  });

  return {
    async until(isAwaited) {
      while (!seen.some(isAwaited)) {
        if (failure !== undefined) throw failure as Error;
        await new Promise<void>((resolve) => (wake = resolve));
      }
      const counts = new Map<string, number>();
      for (const { name } of seen) counts.set(name, (counts.get(name) ?? 0) + 1);
      return counts;
    },
    stop: () => abort.abort(),
  };
}
