import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { botClock } from '../../src/client/bot-clock.js';
import { startFakeApi } from '../support/fake-api.js';

t.test('a process whose bot waits between polls stays up until the result is there', async (t) => {
  const api = await startFakeApi();
  t.teardown(() => api.close());
  const body = { requestId: 'req_1', executions: [] };
  // Closed connections leave the timer as the only thing that keeps the process up.
  const poll = (status: string) => ({
    status: 200,
    headers: { Connection: 'close' },
    body: { ...body, status },
  });
  api.play(poll('accepted'), poll('accepted'), poll('completed'));
  const program = fileURLToPath(new URL('./bot-clock.program.js', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program, api.baseUrl]);
  t.equal(stdout, 'completed\n');
  t.equal(api.seen.length, 3);
});

t.test('a delay beyond what the system takes does not fire at once', async (t) => {
  let fired = false;
  const timer = botClock.setTimer(Number.MAX_SAFE_INTEGER, () => (fired = true));
  await new Promise((resolve) => botClock.setTimer(5, () => resolve(undefined)));
  t.notOk(fired);
  timer.cancel();
});
