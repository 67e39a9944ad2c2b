/** Signals of the largest size, as the commands have them from a running gateway. */
import { join } from 'node:path';
import t from 'tap';
import '../support/alone.js';
import { executionIdOf } from '../../src/lib/ids.js';
import { nativeLengthMax } from '../../src/plugins/protocol.js';
import { putFills, toRecord } from '../../src/signals/stored-execution.js';
import { openStore } from '../../src/store/lmdb-store.js';
import { aFill } from '../signals/an-execution.js';
import { acceptedSignal } from '../support/accepted-signal.js';
import { addUser, startGateway } from '../support/gateway-process.js';
import { signalboxIn } from '../support/in-process.js';

const ann = 'ann@example.com';
const dataDir = join(t.testdir(), 'data');
await addUser(dataDir, ann);
const store = openStore(dataDir);
const userId = store.get('emails', ann) as string;

/** @returns its requestId. @param text what each of its terminals has said of it. */
async function putSignal(acceptedAt: number, executionCount: number, text: string, fills = 0) {
  const { request, execution } = acceptedSignal({ userId, acceptedAt });
  const { requestId } = request;
  const native = { orderId: 'B-1', state: null, code: null, text };
  await store.write((batch) => {
    batch.put('requests', [userId, requestId], { ...request, executionCount });
    for (let index = 0; index < executionCount; index++) {
      const executionId = executionIdOf(requestId, index);
      const filled = {
        ...execution,
        executionId,
        status: 'filled',
        native,
        fills: Array.from({ length: fills }, (_, n) => aFill(`f${n}`, 1)),
      } as const;
      putFills(batch, userId, filled, 0);
      batch.put('finalExecutions', [userId, executionId], toRecord(filled));
    }
  });
  return requestId;
}

const now = Date.now();
const filled = await putSignal(now - 3_000, 1, '', 1_500);
const told = await putSignal(now - 2_000, 64, '€'.repeat(nativeLengthMax.text));
const wide = await putSignal(now - 1_000, 2_500, '');
await store.close();
const gateway = await startGateway({ dataDir });
t.teardown(() => gateway.kill());

async function json(...words: string[]): Promise<any> {
  const { code, stdout, stderr } = await signalboxIn(dataDir, [...words, '--json']);
  t.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

t.test('a list holds signals of many executions, and of terminals that say much', async (t) => {
  const listed = await json('signal', 'list');
  t.strictSame(
    listed.map(({ requestId, executions }: any) => [requestId, executions.length]),
    [
      [wide, 2_500],
      [told, 64],
      [filled, 1],
    ],
  );
  const ids = listed[0].executions.map(({ executionId }: any) => executionId);
  t.equal(ids[2_499], executionIdOf(wide, 2_499));
  t.equal(new Set(ids).size, 2_500);
  t.match(listed[1].executions[63], { status: 'filled', nativeOrderId: 'B-1' });
});

t.test('an execution with more fills than are shown says so', async (t) => {
  const [execution] = (await json('signal', 'show', filled)).executions;
  t.match(execution, { fillsTruncated: true, fills: { length: 1_000 } });
  t.match([execution.fills[0], execution.fills[999]], [{ fillId: 'f0' }, { fillId: 'f999' }]);
  const [whole] = (await json('signal', 'show', told)).executions;
  t.notOk('fillsTruncated' in whole);
});
