/**
 * A bot client against a scripted gateway, over real sockets and on simulated time: whenever the
 * client pauses between two attempts, that time passes at once and is noted; an attempt's time-out
 * passes when the gateway stays silent.
 */
import type { Test } from 'tap';
import {
  createBotClient,
  type BotClient,
  type BotClientOptions,
} from '../../src/client/bot-client.js';
import type { Clock } from '../../src/lib/clock.js';
import { startFakeApi, type FakeApi } from '../support/fake-api.js';
import { SimulatedClock } from '../support/simulated-clock.js';

/** No pause has this fraction, by which the clock tells a time-out from a pause. */
export const timeoutMs = 7_001 + 1 / 64;
/** How long a stream may be silent; no pause is as long. */
export const silenceMs = 45_000;
export const apiKey = 'svc_api_Xy7_secret-of-the-test';

export interface ScriptedClient {
  readonly api: FakeApi;
  readonly clock: SimulatedClock;
  /** Milliseconds of every pause since the start, in order. */
  readonly pauses: number[];
  /** How often a stream has been asked for more. */
  reads: number;
  /** Runs when a pause begins; by default the time passes. */
  onPause: (delayMs: number) => void;
  /** Without jitter, unless the options say otherwise. */
  client(options?: Partial<BotClientOptions>): BotClient;
}

export async function startScriptedClient(t: Test): Promise<ScriptedClient> {
  const api = await startFakeApi();
  t.teardown(() => api.close());
  const clock = new SimulatedClock();
  api.onSilence = () => clock.advance(timeoutMs);

  const watched: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    setTimer(delayMs, task) {
      const timer = clock.setTimer(delayMs, task);
      if (delayMs === silenceMs) scripted.reads++;
      else if (delayMs % 1 !== timeoutMs % 1) {
        scripted.pauses.push(delayMs);
        setImmediate(() => scripted.onPause(delayMs));
      }
      return timer;
    },
  };
  const scripted: ScriptedClient = {
    api,
    clock,
    pauses: [],
    reads: 0,
    onPause: (delayMs) => clock.advance(delayMs),
    client: (options) =>
      createBotClient({
        baseUrl: api.baseUrl,
        apiKey,
        timeoutMs,
        clock: watched,
        random: () => 0,
        ...options,
      }),
  };
  return scripted;
}

export const draft = {
  ttlMs: 20_000,
  platform: 'terminal_a',
  type: 'order',
  cmd: 'submit',
  payload: { instrument: 'EURUSD', side: 'buy', executionType: 'market', quantity: 1, note: 'é✓' },
};

export const accepted = {
  status: 202,
  body: {
    requestId: 'req_1',
    signalId: 'sig_1',
    status: 'accepted',
    acceptedAt: '2026-01-31T12:00:00.000Z',
  },
};
