/** The real process on a disk that fails every write: its answers, what it keeps, how it recovers. */
import t from 'tap';
import type { Finding } from '../../../src/doctor/finding.js';
import { codeOf, signal, status, submit, submitOnce, type Answer } from '../../support/api.js';
import { report, tell } from '../../support/frames.js';
import { startTestGateway, type TestGateway, type TestUser } from '../../support/gateway.js';
import { eventually } from '../../support/eventually.js';
import { signalboxIn } from '../../support/in-process.js';
import type { Plugin } from '../../support/plugin.js';
import {
  breakDisk,
  canBreakDisk,
  firstDataByte,
  isAlive,
  isNativeAbort,
  mendDisk,
} from './write-failure.js';

/** lmdb may abort the process on a failed write: then the test tries again. */
const triesMax = 12;

/** What a bot has before the disk fails. */
interface Before {
  readonly user: TestUser;
  readonly plugin: Plugin;
  readonly body: string;
  readonly accepted: Answer;
  readonly orderRef: string;
}

async function begin(gateway: TestGateway): Promise<Before> {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  // The comment makes the log longer than the limit that the broken disk sets.
  const order = { instrument: 'ES', side: 'buy', executionType: 'market', quantity: 1 };
  const comment = 'x'.repeat(firstDataByte);
  const body = JSON.stringify(signal({ payload: { ...order, comment } }));
  const accepted = await submit(gateway.url, user.key, body, 'kept');
  const { executionId, orderRef } = await plugin.next('submit');
  await tell(plugin, report(1, executionId, 'working'));
  await gateway.becomes(user, accepted.body.requestId, 'working');
  return { user, plugin, body, accepted, orderRef };
}

async function readiness(gateway: TestGateway): Promise<number> {
  return (await fetch(`${gateway.process.opsUrl}/readyz`)).status;
}

/** Repeats `work` until lmdb does not abort the process. */
async function untilWhole<T>(gateway: TestGateway, work: () => Promise<T>): Promise<T> {
  for (let i = 1; ; i++) {
    try {
      return await work();
    } catch (error) {
      const { process } = gateway.process;
      await eventually(() => !isAlive(process), 2_000).catch(() => undefined);
      if (i === triesMax || !isNativeAbort(process)) throw error;
      await gateway.restart('SIGKILL');
    }
  }
}

const skip = canBreakDisk ? false : 'needs prlimit';

t.test(
  'a dead disk is told with the documented codes, and mended without a restart',
  { skip },
  async (t) => {
    const gateway = await startTestGateway(t);
    const said = await untilWhole(gateway, async () => {
      const { user, plugin, body, accepted, orderRef } = await begin(gateway);
      const { key } = user;
      const doubtful = JSON.stringify(signal());
      const code = async (answer: Promise<Answer>): Promise<string> => codeOf(await answer);

      breakDisk(gateway.process.process);
      const dead = {
        submit: await code(submitOnce(gateway.url, key, doubtful, 'doubtful')),
        readiness: await readiness(gateway),
        alive: (await fetch(`${gateway.process.opsUrl}/healthz`)).status,
        sameAgain: await code(submitOnce(gateway.url, key, doubtful, 'doubtful')),
        otherBody: await code(submitOnce(gateway.url, key, body, 'doubtful')),
        replay: (await submitOnce(gateway.url, key, body, 'kept')).text === accepted.text,
        read: (await status(gateway.url, key, accepted.body.requestId)).status,
        cancel: await code(gateway.cancel(user, orderRef, 'doubtful cancel')),
        cancelAgain: await code(gateway.cancel(user, orderRef, 'doubtful cancel')),
      };

      mendDisk(gateway.process.process);
      await eventually(async () => (await readiness(gateway)) === 200);
      const settled = await submit(gateway.url, key, doubtful, 'doubtful');
      const sent = await plugin.next('submit', { requestId: settled.body.requestId });
      const cancelled = await gateway.cancel(user, orderRef, 'doubtful cancel');
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
    const gateway = await startTestGateway(t);
    const { user, body, accepted } = await begin(gateway);
    const doubtful = JSON.stringify(signal());
    breakDisk(gateway.process.process);
    // lmdb may abort the process here; the outcome must be the same.
    await submitOnce(gateway.url, user.key, doubtful, 'doubtful').catch(() => undefined);
    await gateway.restart('SIGKILL');

    t.equal((await status(gateway.url, user.key, accepted.body.requestId)).status, 200);
    t.equal((await submitOnce(gateway.url, user.key, body, 'kept')).text, accepted.text);
    const settled = await submit(gateway.url, user.key, doubtful, 'doubtful');
    t.equal(settled.status, 202);
    const again = await submitOnce(gateway.url, user.key, doubtful, 'doubtful');
    t.equal(again.text, settled.text);
    t.equal(again.headers.get('idempotent-replayed'), 'true');
    const rival = await submitOnce(gateway.url, user.key, doubtful, 'another key');
    t.equal(codeOf(rival), 'duplicate_signal_id');
  },
);

t.test(
  'each failure of data.mdb alone is told when it begins and when it ends, and not in between',
  { skip },
  async (t) => {
    const gateway = await startTestGateway(t);
    let problems: readonly string[] = [];
    const told = await untilWhole(gateway, async () => {
      // The few frames of a new log fit below the limit that the broken disk sets; a page of data.mdb does not.
      await gateway.restart('SIGTERM');
      const { opsUrl, process, log } = gateway.process;
      const failures = async (): Promise<number> =>
        Number(/^signalbox_index_fills_failed_total (\d+)$/m.exec(await metricsOf(opsUrl))?.[1]);
      const ends = (): number => log().split('data.mdb can be written again').length - 1;
      for (const [index, command] of ['halt', 'resume'].entries()) {
        const before = await failures();
        breakDisk(process);
        await gateway.command(command);
        await eventually(async () => (await failures()) >= before + 2);
        if (index === 0) problems = await problemsOf(gateway);
        mendDisk(process);
        await eventually(() => ends() === index + 1);
      }
      return log().match(/"msg":"data\.mdb [^;"]*/g);
    });
    const notReady = /ops port .* which is not ready: data\.mdb cannot be written\./;
    t.ok(
      problems.some((message) => notReady.test(message)),
      'the doctor calls it a problem',
    );
    const [begins, ends] = ['data.mdb cannot be written', 'data.mdb can be written again'];
    t.same(
      told,
      [begins, ends, begins, ends].map((text) => `"msg":"${text}`),
    );
  },
);

/** What `signalbox doctor` calls a problem. */
async function problemsOf({ dataDir, process }: TestGateway): Promise<string[]> {
  const ports = ['--port', new URL(process.url).port, '--ops-port', new URL(process.opsUrl).port];
  const { stdout } = await signalboxIn(dataDir, ['doctor', '--json', ...ports]);
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  return findings.filter(({ level }) => level === 'problem').map(({ message }) => message);
}

async function metricsOf(opsUrl: string): Promise<string> {
  return (await fetch(`${opsUrl}/metrics`)).text();
}
