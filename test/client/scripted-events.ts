/** What a scripted gateway writes into a stream of events, and a reader that takes some items. */
import type { SourceName, StreamItem } from '../../src/client/bot-client.js';
import type { ScriptedAnswer } from '../support/fake-api.js';

export const source: SourceName = {
  platform: 'terminal_b',
  instanceId: '',
  accountName: '7 é&@Broker-Live',
};

export function dataOf(id: string, rawText: string | null = null, event = 'order_update') {
  return {
    eventId: id,
    event,
    occurredAt: '2026-01-31T12:00:00.000Z',
    receivedAt: '2026-01-31T12:00:00.001Z',
    ...source,
    requestId: null,
    signalId: null,
    executionId: null,
    orderRef: null,
    rawText,
    rawTextTruncated: false,
    data: {},
  };
}

export function frame(id: string, name = 'order_update'): string {
  return `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(dataOf(id, null, name))}\n\n`;
}

export function item(id: string, name = 'order_update'): StreamItem {
  return { kind: 'event', id, name, data: dataOf(id, null, name) };
}

export function gap(id: string): string {
  return `id: ${id}\nevent: replay_gap\ndata: {"reason":"cursor_not_available"}\n\n`;
}

/** The first words of a gateway: where the stream begins. */
export function begin(id: string): string {
  return `retry: 1000\nid: ${id}\n\n`;
}

/** A stream that ends after these words. */
export function ended(words = ''): ScriptedAnswer {
  return { status: 200, stream: (out) => void out.end(words) };
}

/** A stream whose connection breaks after these words, without an end. */
export function broken(words: string): ScriptedAnswer {
  return {
    status: 200,
    stream: (out) => void out.write(words, () => out.socket?.destroy()),
  };
}

/** A stream that stays open after these words. */
export function held(words = ''): ScriptedAnswer {
  return { status: 200, stream: (out) => void out.write(words) };
}

/** Takes this many items, then leaves the loop. */
export async function take(events: AsyncIterable<StreamItem>, count: number) {
  const items: StreamItem[] = [];
  for await (const each of events) {
    items.push(each);
    if (items.length === count) break;
  }
  return items;
}
