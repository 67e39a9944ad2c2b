/** The real process on a disk that fails every write: its answers, what it keeps, how it recovers. */
import t from 'tap';
import { signal, status, submit, type Answer } from '../../support/api.js';
import { openDesk, report, tell, type Desk, type Trader } from '../../support/desk.js';
import { eventually } from '../../support/eventually.js';
import type { Plugin } from '../../support/plugin.js';
import { breakDisk, canBreakDisk, isAlive, isNativeAbort, mendDisk } from './write-failure.js';
import { codeOf } from '../crash/operation.js';

/** lmdb may abort the process on a failed write: then the test tries again. */
const triesMax = 12;

/** What a bot has before the disk fails. */
interface Before {
  readonly trader: Trader;
  readonly plugin: Plugin;
  readonly body: string;
  readonly accepted: Answer;
  readonly orderRef: string;
}

async function begin(desk: Desk): Promise<Before> {
  const trader = await desk.trader();
  const plugin = await desk.plugin(trader);
  const body = JSON.stringify(signal());
  const accepted = await submit(desk.url, trader.key, body, 'kept');
  const { executionId, orderRef } = await plugin.next('submit');
  await tell(plugin, report(1, executionId, 'working'));
  await eventually(
    async () => (await desk.execution(trader, accepted.body.requestId)).status === 'working',
  );
  return { trader, plugin, body, accepted, orderRef };
}

async function readiness(desk: Desk): Promise<number> {
  return (await fetch(`${desk.gateway.opsUrl}/readyz`)).status;
}

/** Repeats `work` until lmdb does not abort the process. */
async function untilWhole<T>(desk: Desk, work: () => Promise<T>): Promise<T> {
  for (let i = 1; ; i++) {
    try {
      return await work();
    } catch (error) {
      const { process } = desk.gateway;
      await eventually(() => !isAlive(process), 2_000).catch(() => undefined);
      if (i === triesMax || !isNativeAbort(process)) throw error;
      await desk.restart('SIGKILL');
    }
  }
}

const skip = canBreakDisk ? false : 'needs prlimit';

t.test(
  'a dead disk is told with the documented codes, and mended without a restart',
  { skip },
  async (t) => {
    const desk = await openDesk(t);
    const said = await untilWhole(desk, async () => {
      const { trader, plugin, body, accepted, orderRef } = await begin(desk);
      const { key } = trader;
      const doubtful = JSON.stringify(signal());
      const code = async (answer: Promise<Answer>): Promise<string> => codeOf(await answer);

      breakDisk(desk.gateway.process);
      const dead = {
        submit: await code(submit(desk.url, key, doubtful, 'doubtful')),
        readiness: await readiness(desk),
        alive: (await fetch(`${desk.gateway.opsUrl}/healthz`)).status,
        sameAgain: await code(submit(desk.url, key, doubtful, 'doubtful')),
        otherBody: await code(submit(desk.url, key, body, 'doubtful')),
        replay: (await submit(desk.url, key, body, 'kept')).text === accepted.text,
        read: (await status(desk.url, key, accepted.body.requestId)).status,
        cancel: await code(desk.cancel(trader, orderRef, 'doubtful cancel')),
        cancelAgain: await code(desk.cancel(trader, orderRef, 'doubtful cancel')),
      };

      mendDisk(desk.gateway.process);
      await eventually(async () => (await readiness(desk)) === 200);
      const settled = await submit(desk.url, key, doubtful, 'doubtful');
      const sent = await plugin.next('submit', { requestId: settled.body.requestId });
      const cancelled = await desk.cancel(trader, orderRef, 'doubtful cancel');
      await plugin.next('cancel', { cancelRequestId: cancelled.body.cancelRequestId });
      await tell(plugin, report(2, sent['executionId'], 'working'));
      const mended = {
        settled: settled.status,
        cancelled: cancelled.status,
        cancelIsReplayed: cancelled.headers.get('idempotent-replayed'),
        sentTwice: plugin.frames.filter(({ type }) => type === 'submit' || type === 'cancel')
          .length,
      };
      return { dead, mended };
    });
    t.strictSame(said, {
      dead: {
        submit: 'signal_processing_failed',
        readiness: 503,
        alive: 200,
        sameAgain: 'idempotency_outcome_unknown',
        otherBody: 'idempotency_conflict',
        replay: true,
        read: 200,
        cancel: 'signal_processing_failed',
        cancelAgain: 'idempotency_outcome_unknown',
      },
      mended: { settled: 202, cancelled: 202, cancelIsReplayed: 'true', sentTwice: 0 },
    });
  },
);

t.test(
  'what a dead disk left in doubt is settled by a retry after a restart',
  { skip },
  async (t) => {
    const desk = await openDesk(t);
    const { trader, body, accepted } = await begin(desk);
    const doubtful = JSON.stringify(signal());
    breakDisk(desk.gateway.process);
    // lmdb may abort the process here; the outcome must be the same.
    await submit(desk.url, trader.key, doubtful, 'doubtful').catch(() => undefined);
    await desk.restart('SIGKILL');

    t.equal((await status(desk.url, trader.key, accepted.body.requestId)).status, 200);
    t.equal((await submit(desk.url, trader.key, body, 'kept')).text, accepted.text);
    const settled = await submit(desk.url, trader.key, doubtful, 'doubtful');
    t.equal(settled.status, 202);
    const again = await submit(desk.url, trader.key, doubtful, 'doubtful');
    t.equal(again.text, settled.text);
    t.equal(again.headers.get('idempotent-replayed'), 'true');
    const rival = await submit(desk.url, trader.key, doubtful, 'another key');
    t.equal(codeOf(rival), 'duplicate_signal_id');
  },
);
