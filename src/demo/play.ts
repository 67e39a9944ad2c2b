/**
 * Runs the steps of the demo's bot and checks their results: orders to two terminals, a retry, a rejection by
 * the terminal, a cancel, and the event stream. The first failed check ends the demo.
 */
import type { BotClient, ExecutionView, Result, SignalDraft } from '../client/bot-client.js';
import { systemClock } from '../lib/clock.js';
import { futuresDesk } from './cast.js';
import { follow, type Follower } from './follower.js';
import { check, type Screen } from './screen.js';

const pollMs = [10, 20, 50, 100, 250, 500] as const;
const timeoutMs = 10_000;
const ttlMs = 60_000;

/** @returns the requestId of the cancelled order. */
export async function play(bot: BotClient, screen: Screen): Promise<string> {
  const follower = follow(bot, futuresDesk);
  try {
    return await playSteps(bot, screen, follower);
  } finally {
    follower.stop();
  }
}

async function playSteps(bot: BotClient, screen: Screen, follower: Follower): Promise<string> {
  await screen.step('the bot lists the terminals', async (print) => {
    const sources = valueOf(await bot.sources());
    check(sources.length === 2, `there are ${sources.length} terminals instead of 2`);
    print('→ GET /api/v1/terminal-events/sources');
    for (const source of sources) {
      check(source.connected, `${source.platform} is not connected`);
      print(`← ${source.platform}  ${source.instanceId}  ${source.accountName}  connected`);
    }
  });

  await screen.step('a market order to both terminals is filled', async (print) => {
    const order = { instrument: 'EURUSD', side: 'buy', executionType: 'market', quantity: 1 };
    const executions = await execute(bot, submitOrder('terminal_a,terminal_b', order), print);
    check(executions.length === 2, `there are ${executions.length} executions instead of 2`);
    for (const execution of executions) {
      check(execution.status === 'filled', `${execution.platform}: ${execution.status}`);
      print(
        `${execution.platform}  filled ${execution.filledQuantity} at ${execution.averageFillPrice}`,
      );
    }
  });

  await screen.step('a retry of the same request is deduplicated', async (print) => {
    const order = { instrument: 'AAPL', side: 'buy', executionType: 'market', quantity: 1 };
    const prepared = bot.prepare(submitOrder('terminal_a', order));
    const first = valueOf(await bot.send(prepared));
    const second = valueOf(await bot.send(prepared));
    check(second.requestId === first.requestId, 'the retry became a second request');
    check(second.replayed, 'the retry did not get the stored response');
    print(`→ POST /api/v1/signals  Idempotency-Key: ${prepared.idempotencyKey}, twice`);
    print(`← 202 ${first.requestId}, and again the same, Idempotent-Replayed: true`);
  });

  await screen.step(
    'a limit order without its price is rejected by the terminal',
    async (print) => {
      const order = { instrument: 'ES', side: 'buy', executionType: 'limit', quantity: 1 };
      const [execution] = await execute(bot, submitOrder('terminal_a', order), print);
      check(execution?.status === 'rejected', `the order is ${execution?.status ?? 'missing'}`);
      check(execution.reasonCode === 'missing_limit_price', `for ${String(execution.reasonCode)}`);
      print(`← rejected  ${execution.reasonCode}`);
    },
  );

  const resting = await screen.step(
    'a limit order far below the market stays open',
    async (print) => {
      const order = {
        instrument: 'ES',
        side: 'buy',
        executionType: 'limit',
        limitPrice: 1000,
        quantity: 2,
      };
      const draft = submitOrder('terminal_a', order);
      const { requestId } = valueOf(await bot.submit(draft));
      printExchange(print, draft, requestId);
      const execution = await waitFor(bot, requestId, ({ status }) => status === 'working');
      print(`← working  ${String(execution.orderRef)}`);
      return { requestId, orderRef: execution.orderRef ?? '' };
    },
  );

  await screen.step('exactly that order is cancelled', async (print) => {
    const { cancelRequestId } = valueOf(await bot.cancel(resting.orderRef));
    print(`→ POST /api/v1/orders/${resting.orderRef}/cancel`);
    print(`← 202 ${cancelRequestId}`);
    const execution = await waitFor(
      bot,
      resting.requestId,
      ({ status, cancel }) => status === 'cancelled' && cancel?.status === 'cancelled',
    );
    print(`← cancelled  ${String(execution.reasonCode)}`);
  });

  await screen.step('the event stream has all of these changes', async (print) => {
    const counts = await follower.until(
      ({ name, data }) => name === 'cancel_update' && data.data['status'] === 'cancelled',
    );
    print(`→ GET /api/v1/terminal-events/stream  ${Object.values(futuresDesk).join(', ')}`);
    for (const [name, count] of counts) print(`← ${String(count).padStart(3)}  ${name}`);
  });
  return resting.requestId;
}

function submitOrder(platform: string, payload: object): SignalDraft {
  return { platform, type: 'order', cmd: 'submit', ttlMs, payload };
}

function printExchange(print: (text: string) => void, draft: SignalDraft, requestId: string): void {
  print(`→ POST /api/v1/signals  ${draft.platform}  ${JSON.stringify(draft.payload)}`);
  print(`← 202 ${requestId}`);
}

/** Sends a signal and waits for its result. */
async function execute(
  bot: BotClient,
  draft: SignalDraft,
  print: (text: string) => void,
): Promise<readonly ExecutionView[]> {
  const { requestId } = valueOf(await bot.submit(draft));
  printExchange(print, draft, requestId);
  const result = valueOf(await bot.waitForResult(requestId, { timeoutMs, pollMs }));
  check(result.status === 'completed', `the signal is not completed after ${timeoutMs} ms`);
  return result.executions;
}

/** Polls until the only execution of a request matches. */
async function waitFor(
  bot: BotClient,
  requestId: string,
  isReached: (execution: ExecutionView) => boolean,
): Promise<ExecutionView> {
  const givenUpAt = systemClock.monotonic() + timeoutMs;
  for (;;) {
    const [execution] = valueOf(await bot.status(requestId)).executions;
    if (execution !== undefined && isReached(execution)) return execution;
    check(systemClock.monotonic() < givenUpAt, `the order stays ${String(execution?.status)}`);
    await new Promise<void>((resolve) => systemClock.setTimer(pollMs[0], resolve));
  }
}

function valueOf<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  const { kind, code, message } = result.error;
  throw new Error(`${kind}${code === undefined ? '' : ` (${code})`}: ${message}`);
}
