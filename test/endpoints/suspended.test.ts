/** A process that is suspended, as when its virtual machine is moved: no request that waited fails. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import t from 'tap';
import { bearer, call, get, signal, submit, verdict } from '../support/api.js';
import { blockablePool, blockPool } from '../support/blocked-pool.js';
import { eventually } from '../support/eventually.js';
import { startTestGateway } from '../support/gateway.js';
import { commitAnswerMs } from '../../src/store/storage-health.js';

const folder = mkdtempSync(join(tmpdir(), 'signalbox-pipe-'));
t.teardown(() => rmSync(folder, { recursive: true }));
const pipe = join(folder, 'pipe');

t.test('a commit that was under way is not taken for one that hangs', async (t) => {
  const gateway = await startTestGateway(t, { environment: blockablePool(pipe) });
  const user = await gateway.user();
  await gateway.plugin(user);
  const other = await gateway.user();
  const child = gateway.process.process;
  const send = (key: string) => submit(gateway.url, user.key, JSON.stringify(signal()), key);
  await blockPool(child, pipe);
  const revoked = call(gateway.url, 'DELETE', `/api/api-keys/${other.keyId}`, {
    headers: bearer(other.token),
  });
  const before = [send('first'), send('second')];
  await eventually(async () => {
    const { text } = await get(gateway.process.opsUrl, '/metrics');
    // The gateway keeps a scrape for a second: the first may be from before the commit.
    return /^signalbox_commit_age_seconds [0-2]\../m.test(text);
  });
  child.kill('SIGSTOP');
  // The shell waits until the threads open the pipe, which they do when the process is resumed.
  spawn('/bin/sh', ['-c', ': > "$0"', pipe]);
  const during = [send('third'), send('fourth')];
  await setTimeout(commitAnswerMs + 1_000);
  child.kill('SIGCONT');
  for (const answer of await Promise.all([...before, ...during])) t.equal(verdict(answer), '202');
  t.equal(verdict(await revoked), '204');
  t.notMatch(gateway.process.log(), 'a commit hangs');
});
