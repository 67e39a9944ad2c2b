/**
 * How a channel's events reach a server: as frames of a terminal plugin, as messages of a push
 * server's publisher socket, or as POSTs one behind the other on a kept connection.
 */
import { AnswerCounter } from './answer-counter.js';
import { type Address, connectRaw } from './raw-socket.js';
import { NumberedBytes } from './numbered-bytes.js';
import { connectPlugin } from './plugin.js';
import { Publisher } from './publisher.js';
import { numberOrigin, pluginFrame, publishRequest, readerData } from './sample-event.js';
import { LoadWebSocket, textFrame } from './web-socket.js';

export interface PublishTarget extends Address {
  readonly path: string;
  /** For a plugin. */
  readonly token?: string;
}

/** Connects; the publisher is still when this resolves. */
type Connect = (
  target: PublishTarget,
  window: number,
  onClosed: (reason: string) => void,
) => Promise<Publisher>;

export const publishing = {
  plugin: async (target, window, onClosed) => {
    const event = new NumberedBytes(textFrame(pluginFrame(numberOrigin)));
    const plugin = await connectPlugin(
      { ...target, token: target.token ?? '' },
      {
        onAck: (seq) => publisher.acknowledge(seq - numberOrigin),
        onClosed,
      },
    );
    const publisher = new Publisher(event, window, (bytes) => plugin.write(bytes));
    return publisher;
  },

  socket: async (target, window, onClosed) => {
    let answers = 0;
    const event = new NumberedBytes(textFrame(readerData(numberOrigin)));
    const socket = new LoadWebSocket({
      onText: () => publisher.acknowledge(++answers),
      onClosed,
    });
    const publisher = new Publisher(event, window, (bytes) => socket.write(bytes));
    await socket.open({ ...target, headers: [] });
    return publisher;
  },

  post: async (target, window, onClosed) => {
    const answers = new AnswerCounter();
    const { host, port, path } = target;
    const request = Buffer.from(publishRequest(`${host}:${port}`, path, numberOrigin));
    const socket = await connectRaw(host, port, {
      onBytes: (bytes) => {
        answers.take(bytes);
        if (answers.failed > 0) throw new Error(`A POST failed: ${bytes.toString('latin1')}`);
        publisher.acknowledge(answers.succeeded);
      },
      onClosed,
    });
    const publisher = new Publisher(new NumberedBytes(request), window, (bytes) =>
      socket.write(bytes),
    );
    return publisher;
  },
} as const satisfies Record<string, Connect>;

export type PublishingKind = keyof typeof publishing;
