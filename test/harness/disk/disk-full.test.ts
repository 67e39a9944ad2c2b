/**
 * The gateway under traffic on a disk that is full to the last block: refusals, nothing lost, recovery.
 */
import { join } from 'node:path';
import t from 'tap';
import '../../support/alone.js';
import {
  type Answer,
  bearer,
  call,
  codeOf,
  createKey,
  login,
  signal,
  status,
  submitOnce,
} from '../../support/api.js';
import { report } from '../../support/frames.js';
import { eventually } from '../../support/eventually.js';
import { addUser, startGateway } from '../../support/gateway-process.js';
import { signalboxIn } from '../../support/in-process.js';
import { openPlugin } from '../../support/plugin.js';
import { isAlive } from './write-failure.js';
import { mountSmallDisk } from './small-disk.js';

const ann = 'ann@example.com';
const lanes = 8;
const refusalsWanted = 200;

interface Sent {
  readonly body: string;
  readonly idempotencyKey: string;
  readonly answer: Answer;
}

/** Two segments of the log, the index, and an eighth that stays free. */
const disk = mountSmallDisk(96);
const missing = typeof disk === 'string' ? disk : false;
if (missing !== false) console.error(`NOT TESTED: ${missing}`);

const title = 'a full disk: clear refusals, no crash, nothing lost, recovery by itself';
t.test(title, { skip: missing }, async (t) => {
  if (typeof disk === 'string') return;
  t.teardown(() => disk.unmount());
  const dataDir = join(disk.path, 'data');
  await addUser(dataDir, ann);
  let isOver = false;
  let gateway = await startGateway({ dataDir });
  t.teardown(async () => {
    isOver = true;
    await gateway.kill();
  });
  const readiness = async () => (await fetch(`${gateway.opsUrl}/readyz`)).status;
  const { token, sessionToken } = await login(gateway.url, ann);
  const { key } = await createKey(gateway.url, token);
  const leaked = await createKey(gateway.url, token);
  const plugin = await openPlugin(gateway.url, sessionToken);

  const sent: Sent[] = [];
  let count = 0;
  const lane = async (): Promise<void> => {
    while (!isOver) {
      const body = JSON.stringify(signal());
      const idempotencyKey = `key-${++count}`;
      sent.push({
        body,
        idempotencyKey,
        answer: await submitOnce(gateway.url, key, body, idempotencyKey),
      });
    }
  };
  const traffic = Promise.all(Array.from({ length: lanes }, lane));
  const accepted = () => sent.filter(({ answer }) => answer.status === 202);
  const refused = () => sent.filter(({ answer }) => answer.status !== 202);
  await eventually(() => accepted().length > 20, 20_000);

  // First below the gateway's disk reserve, then to the last block.
  disk.fill(2 ** 20);
  await eventually(async () => (await readiness()) === 503);
  disk.fill(0);
  t.ok(disk.freeBytes() < 4096, 'the disk is full to the last block');
  const { executionId } = await plugin.next('submit');
  plugin.send(report(1, executionId as string, 'working'));
  const before = refused().length;
  await eventually(() => refused().length >= before + refusalsWanted, 30_000);
  isOver = true;
  await traffic;

  const codes = new Set(refused().map(({ answer }) => `${answer.status} ${codeOf(answer)}`));
  t.same([...codes], ['503 storage_unavailable'], 'refused before it reached the store');
  t.equal(await readiness(), 503);
  t.equal((await fetch(`${gateway.opsUrl}/healthz`)).status, 200);
  const [first] = accepted() as [Sent];
  t.equal((await status(gateway.url, key, first.answer.body.requestId)).status, 200);
  const replay = await submitOnce(gateway.url, key, first.body, first.idempotencyKey);
  t.equal(replay.text, first.answer.text, 'a retry is replayed meanwhile');
  const [free] = refused() as [Sent];
  const again = await submitOnce(gateway.url, key, free.body, free.idempotencyKey);
  t.equal(codeOf(again), 'storage_unavailable', 'known not to be accepted, so its key is free');
  t.equal(plugin.frames.filter(({ type }) => type === 'ack').length, 0, 'nothing is called safe');

  const revoked = await call(gateway.url, 'DELETE', `/api/api-keys/${leaked.id}`, {
    headers: bearer(token),
  });
  t.equal(revoked.status, 204, 'a key is revoked without space');
  t.equal(codeOf(await submitOnce(gateway.url, leaked.key, signal())), 'invalid_api_key');
  const cli = (...args: string[]) => signalboxIn(dataDir, args);
  const stops = [['halt'], ['api', 'disable'], ['user', 'set', ann, '--frozen', 'true']];
  for (const stop of stops)
    t.match(await cli(...stop), { code: 0, stderr: '' }, `${stop.join(' ')} needs no space`);
  t.equal(await readiness(), 503, 'nor does it say that there is some');

  disk.free();
  await eventually(async () => (await readiness()) === 200);
  const failed = gateway
    .log()
    .split('\n')
    .filter((line) => line.includes('a commit failed:'));
  t.equal(failed.length, 1, 'the log says it once');
  t.match(failed[0], /"reason":"the disk has [^"]*must stay free"/);
  await cli('api', 'enable');
  await cli('user', 'set', ann, '--frozen', 'false');
  const halted = await submitOnce(gateway.url, key, free.body, free.idempotencyKey);
  t.equal(codeOf(halted), 'trading_halted', 'a stop stays when there is space again');
  await cli('resume');
  t.ok(isAlive(gateway.process), 'without a restart');
  t.equal((await plugin.next('ack'))['seq'], 1, 'what terminals said meanwhile is kept now');
  const retried = await submitOnce(gateway.url, key, free.body, free.idempotencyKey);
  t.equal(retried.status, 202);

  await gateway.kill();
  gateway = await startGateway({ dataDir });
  for (const { body, idempotencyKey, answer } of accepted()) {
    const retried = await submitOnce(gateway.url, key, body, idempotencyKey);
    if (retried.text !== answer.text) t.fail(`lost: ${answer.text}, now ${retried.text}`);
  }
  t.ok(accepted().length > 20, `${accepted().length} accepted, all there after SIGKILL`);

  disk.fill(0);
  t.match(await cli('halt'), { code: 0 });
  await gateway.kill();
  const { stdout } = await cli('doctor');
  t.match(stdout, /problem +store +The store needs .* to bring its log .*\n.*Make room first/);
  t.notMatch(stdout, 'backup', 'who restored one would lose what is safe');
});
