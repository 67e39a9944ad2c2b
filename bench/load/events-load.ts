/**
 * Program: the generator of the event benches. Connects readers and publishers, lets them run, counts
 * what the readers get, and at the end whether all that was published has arrived. Publishers and
 * readers share one process, so that readers that cannot keep up slow the publishers down: a server
 * is never blamed for losing what nobody read.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { answerCommands } from './commands.js';
import { inSlices } from './in-slices.js';
import type { Publisher } from './publisher.js';
import { publishing, type PublishingKind, type PublishTarget } from './publishing.js';
import type { Address, Resource } from './raw-socket.js';
import { SseReader } from './sse-reader.js';

export interface EventsJob extends Address {
  readonly publishing: PublishingKind;
  /** Events of one channel that may be under way. */
  readonly window: number;
  readonly channels: readonly EventsChannel[];
  readonly streamsPerChannel: number;
}

export interface EventsChannel {
  readonly publish: Omit<PublishTarget, keyof Address>;
  readonly stream: Resource;
}

/** What the readers got in the measured time. */
export interface EventsMeasured {
  readonly seconds: number;
  readonly delivered: number;
  readonly bytesPerEvent: number;
  /** Processor time of this process by the wall time: near 1 it can do no more. */
  readonly busyShare: number;
}

/** What became of all that was published, the warm-up included. */
export interface EventsOutcome {
  readonly delivered: number;
  /** Events times streams that did not arrive. */
  readonly lost: number;
  /** Arrived twice or behind a later one. */
  readonly disordered: number;
  /** Of publishers and readers. */
  readonly closedConnections: number;
}

/** When nothing has come for so long, nothing more will come: a server may be starved for a while. */
const quietMs = 3_000;
const lookAgainMs = 20;

let job: EventsJob;
let publishers: readonly Publisher[] = [];
let readers: readonly SseReader[] = [];
let closedPublishers = 0;

await answerCommands({
  async open(command: { job: EventsJob }) {
    ({ job } = command);
    const { host, port, channels, streamsPerChannel, window } = job;
    const connect = publishing[job.publishing];
    publishers = await inSlices(channels, ({ publish }) =>
      connect({ host, port, ...publish }, window, () => closedPublishers++),
    );
    const streams = channels.flatMap(({ stream }) =>
      Array.from({ length: streamsPerChannel }, () => stream),
    );
    readers = await inSlices(streams, async (stream) => {
      const reader = new SseReader();
      await reader.open({ host, port, ...stream });
      return reader;
    });
    for (const publisher of publishers) publisher.start();
    return {};
  },

  async run({ seconds }: { seconds: number }): Promise<EventsMeasured> {
    const before = counts();
    await pause(seconds * 1000);
    const after = counts();
    const delivered = after.delivered - before.delivered;
    return {
      seconds: (after.at - before.at) / 1000,
      delivered,
      bytesPerEvent: (after.bytes - before.bytes) / Math.max(1, delivered),
      busyShare: (after.cpuMs - before.cpuMs) / (after.at - before.at),
    };
  },

  async finish(): Promise<EventsOutcome> {
    for (const publisher of publishers) publisher.stop();
    const published = sum(publishers, ({ sent }) => sent);
    const expected = published * job.streamsPerChannel;
    let { delivered } = counts();
    for (let quietSince = performance.now(); delivered < expected; await pause(lookAgainMs)) {
      const now = counts();
      if (now.delivered > delivered) quietSince = now.at;
      else if (now.at - quietSince > quietMs) break;
      ({ delivered } = now);
    }
    const disordered = sum(readers, (reader) => reader.disordered);
    return {
      delivered,
      lost: expected - (delivered - disordered),
      disordered,
      closedConnections: closedPublishers + sum(readers, ({ isClosed }) => Number(isClosed)),
    };
  },
});

function counts() {
  const { user, system } = process.cpuUsage();
  return {
    at: performance.now(),
    delivered: sum(readers, ({ events }) => events),
    bytes: sum(readers, ({ bytes }) => bytes),
    cpuMs: (user + system) / 1000,
  };
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
