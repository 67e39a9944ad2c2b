/**
 * Program: the generator of the memory bench. Opens plugins and streams, and keeps them open without
 * any traffic but the heartbeats that plugins owe.
 */
import { answerCommands } from './commands.js';
import { inSlices } from './in-slices.js';
import { connectPlugin } from './plugin.js';
import type { Address, Resource } from './raw-socket.js';
import { SseReader } from './sse-reader.js';

interface IdlePlugins extends Address {
  readonly sessionTokens: readonly string[];
}

interface IdleStreams extends Address {
  readonly streams: readonly Resource[];
}

const readers: SseReader[] = [];
let closedPlugins = 0;

await answerCommands({
  async plugins({ host, port, sessionTokens }: IdlePlugins) {
    await inSlices(sessionTokens, (token) =>
      connectPlugin({ host, port, token }, { onClosed: () => closedPlugins++ }),
    );
    return {};
  },

  async streams({ host, port, streams }: IdleStreams) {
    const opened = await inSlices(streams, async (stream) => {
      const reader = new SseReader();
      await reader.open({ host, port, ...stream });
      return reader;
    });
    readers.push(...opened);
    return {};
  },

  /** How many of all are closed by now. */
  closed: () =>
    Promise.resolve({
      closed: closedPlugins + readers.filter(({ isClosed }) => isClosed).length,
    }),
});
