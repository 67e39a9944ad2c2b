import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync } from 'node:fs';
import t from 'tap';
import { eventually } from '../../support/eventually.js';
import { dataDirOf } from '../../support/gateway.js';
import { signalbox } from '../../support/signalbox.js';

const skip = existsSync('/dev/full') ? false : 'needs /dev/full';

t.test('a log that cannot be written does not end the gateway', { skip }, async (t) => {
  const flags = ['--data-dir', dataDirOf(t), '--port', '0', '--ops-port', '0'];
  const child = spawn(process.execPath, [signalbox, 'serve', ...flags], {
    stdio: ['ignore', 'pipe', openSync('/dev/full', 'w')],
  });
  const exited = once(child, 'exit');
  t.teardown(() => {
    child.kill('SIGKILL');
    return exited;
  });
  const [ready] = (await once(child.stdout!, 'data')) as [Buffer];
  const { opsUrl } = JSON.parse(ready.toString()) as { opsUrl: string };
  t.equal((await fetch(`${opsUrl}/readyz`)).status, 200);
  child.kill('SIGTERM');
  t.same(await exited, [0, null]);
});

t.test('a ready line that cannot be written does not end the gateway', { skip }, async (t) => {
  const flags = ['--data-dir', dataDirOf(t), '--port', '0', '--ops-port', '0'];
  const child = spawn(process.execPath, [signalbox, 'serve', ...flags], {
    stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
  });
  const exited = once(child, 'exit');
  t.teardown(() => {
    child.kill('SIGKILL');
    return exited;
  });
  let log = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (log += text));
  await eventually(() => log.includes('standard output cannot be written'));
  child.kill('SIGTERM');
  t.same(await exited, [0, null]);
  for (const line of log.trim().split('\n')) t.doesNotThrow(() => JSON.parse(line), line);
});
