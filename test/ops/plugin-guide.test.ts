/** ops/plugin-guide.md: its plugin runs as it stands on the page, against a gateway. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t, { type Test } from 'tap';
import { rules } from '../../src/conformance/judge.js';
import { post, signal, status, submit } from '../support/api.js';
import { until } from '../support/eventually.js';
import { startTestGateway } from '../support/gateway.js';
import { password } from '../support/gateway-process.js';
import { blocksOf } from '../support/page.js';

const page = readFileSync(new URL('../../../ops/plugin-guide.md', import.meta.url), 'utf8');
const [program] = blocksOf(page).filter(({ language }) => language === 'js');
const gateway = await startTestGateway(t, {});

/** Runs the page's plugin in this directory. @returns when it is connected. */
async function start(t: Test, directory: string, email: string) {
  writeFileSync(join(directory, 'plugin.mjs'), program?.text ?? '');
  const child = spawn(process.execPath, ['plugin.mjs'], {
    cwd: directory,
    env: { URL: gateway.url, EMAIL: email, PASSWORD: password },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  t.teardown(async () => {
    child.kill('SIGKILL');
    await closed;
  });
  await new Promise<void>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.includes('"connected"')) resolve();
    });
  });
  return { child, closed };
}

/** The execution of a new order with these fields, once its status is as wanted. */
async function order(key: string, fields: object, wanted: string) {
  const payload = { instrument: 'ES', side: 'buy', quantity: 2, ...fields };
  const { body } = await submit(gateway.url, key, signal({ payload }));
  return executionOf(key, body.requestId, wanted);
}

async function executionOf(key: string, requestId: string, wanted: string) {
  const { body } = await until(
    () => status(gateway.url, key, requestId),
    (answer) => answer.body?.executions[0].status === wanted,
  );
  return { requestId, ...body.executions[0] };
}

t.test('the plugin has less than 100 lines', async (t) => {
  t.ok(program !== undefined && program.text.split('\n').length < 100);
});

t.test('the page shows as many rules as there are', async (t) => {
  const [, passed, failed] = /^(\d+) passed, (\d+) failed$/m.exec(page) ?? [];
  t.equal(Number(passed) + Number(failed), Object.keys(rules).length);
});

t.test('the plugin fills, rests, cancels and rejects', async (t) => {
  const { email, key } = await gateway.user();
  const { child, closed } = await start(t, t.testdir(), email);
  t.match(await order(key, { executionType: 'market' }, 'filled'), {
    filledQuantity: 2,
    averageFillPrice: 5_000,
    native: { orderId: 'N-1' },
  });
  const limit = { executionType: 'limit', limitPrice: 4_990 };
  const resting = await order(key, limit, 'working');
  await post(gateway.url, `/api/v1/orders/${resting.orderRef}/cancel`, '', key, {
    'idempotency-key': 'guide-cancel',
  });
  const cancelled = await executionOf(key, resting.requestId, 'cancelled');
  t.equal(cancelled.cancel.status, 'cancelled');
  t.match(await order(key, { ...limit, stopLoss: 4_980 }, 'rejected'), {
    reasonCode: 'invalid_field',
    native: { text: /stopLoss/ },
  });
  child.kill('SIGTERM');
  await closed;
  t.equal(child.exitCode, 0);
});

t.test('the plugin that was killed comes back and goes on', async (t) => {
  const { email, key } = await gateway.user();
  const directory = t.testdir();
  const { child, closed } = await start(t, directory, email);
  await order(key, { executionType: 'market' }, 'filled');
  child.kill('SIGKILL');
  await closed;
  const { body } = await submit(gateway.url, key, signal());
  await start(t, directory, email);
  t.match(await executionOf(key, body.requestId, 'filled'), { filledQuantity: 1 });
});
