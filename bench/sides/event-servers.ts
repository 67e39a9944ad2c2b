/**
 * The servers of the event benches as a table: how each is started, how events get in and where
 * readers find them. All of them get the same events from the same generator for the same readers.
 */
import { fileURLToPath } from 'node:url';
import type { EventsJob } from '../load/events-load.js';
import { source, streamPath } from '../load/sample-event.js';
import type { Product } from '../measure/product.js';
import { startSide, type Side } from '../measure/side.js';
import { closeGateway, startGateway } from './gateway.js';
import { populate } from './population.js';

export interface EventServer {
  readonly server: Side;
  readonly traffic: Pick<EventsJob, 'publishing' | 'channels'>;
  readonly close: () => Promise<void>;
}

export interface EventServerOptions {
  readonly product: Product;
  /** Each with one publisher. */
  readonly channels: number;
}

type Start = (options: EventServerOptions) => Promise<EventServer>;

export const eventServers = {
  gateway: startProduct,
  /** Writes every event by itself, as it comes. */
  bare: (options) => startBare('each', options),
  /** Writes what has come in one turn of its loop at once. */
  'bare, batched': (options) => startBare('turn', options),
  nchan: (options) => startNchan('socket', '1', options),
  'nchan by POST': (options) => startNchan('post', '1', options),
  'nchan, a worker a core': (options) => startNchan('socket', 'auto', options),
} as const satisfies Record<string, Start>;

export type EventServerName = keyof typeof eventServers;

async function startProduct({ product, channels }: EventServerOptions): Promise<EventServer> {
  const population = await populate({ product, users: channels, keysPerUser: 1 });
  const server = await startGateway({ product, population });
  const path = `${streamPath}?${new URLSearchParams(source).toString()}`;
  return {
    server,
    traffic: {
      publishing: 'plugin',
      channels: population.users.map(({ sessionToken, keys }) => ({
        publish: { path: '', token: sessionToken },
        stream: { path, headers: [authorization(keys[0] as string)] },
      })),
    },
    close: () => closeGateway(server, population),
  };
}

async function startBare(
  writes: 'each' | 'turn',
  { channels }: EventServerOptions,
): Promise<EventServer> {
  const program = fileURLToPath(new URL('./ceiling-events.js', import.meta.url));
  const server = await startSide({ name: 'bare event server', program, args: [writes] });
  return {
    server,
    traffic: {
      publishing: 'plugin',
      channels: Array.from({ length: channels }, (_, index) => ({
        publish: { path: '', token: `user-${index}` },
        stream: { path: streamPath, headers: [authorization(`user-${index}`)] },
      })),
    },
    close: () => server.stop(),
  };
}

async function startNchan(
  publishing: 'socket' | 'post',
  workers: '1' | 'auto',
  { channels }: EventServerOptions,
): Promise<EventServer> {
  const program = fileURLToPath(new URL('./nchan.js', import.meta.url));
  const server = await startSide({ name: 'nchan', program, args: [workers] });
  return {
    server,
    traffic: {
      publishing,
      channels: Array.from({ length: channels }, (_, index) => ({
        publish: { path: `/publish/user-${index}` },
        stream: { path: `/events/user-${index}`, headers: [] },
      })),
    },
    close: () => server.stop(),
  };
}

function authorization(token: string): string {
  return `Authorization: Bearer ${token}`;
}
