/** The doctor beside a gateway that runs, under load: no false alarm, and nothing is disturbed. */
import t from 'tap';
import type { Finding } from '../../../src/doctor/finding.js';
import { signal, submit } from '../../support/api.js';
import { runCommand } from '../../support/command.js';
import { report, tell } from '../../support/frames.js';
import { startTestGateway } from '../../support/gateway.js';

const gateway = await startTestGateway(t, { users: 2 });
const { port } = new URL(gateway.url);
const opsPort = new URL(gateway.process.opsUrl).port;

async function findings(flags: readonly string[]): Promise<Finding[]> {
  const args = ['doctor', '--json', '--data-dir', gateway.dataDir, ...flags];
  const { stdout } = await runCommand(args);
  return (JSON.parse(stdout) as { findings: Finding[] }).findings;
}

t.test('beside a running gateway under load all is well', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  let isOver = false;
  let seq = 0;
  const work = (async () => {
    while (!isOver) {
      const { executionId } = await gateway.order(user, plugin);
      await tell(plugin, report(++seq, executionId, seq % 2 === 0 ? 'filled' : 'working'));
    }
  })();
  for (let i = 0; i < 3; i++) {
    const found = await findings(['--port', port, '--ops-port', opsPort]);
    t.same(
      found.filter(({ level }) => level === 'problem'),
      [],
    );
    t.match(
      found.filter(({ check }) => check === 'ports'),
      [
        { level: 'ok', message: /answers for the running gateway \(process \d+\)/ },
        { level: 'ok', message: /answers for the running gateway .*: ready\.$/ },
      ],
    );
    t.match(
      found.filter(({ check }) => check === 'files'),
      [{ message: /The running gateway/ }],
    );
  }
  isOver = true;
  await work;
  t.ok(seq > 5, `${seq} orders meanwhile`);
});

t.test('settings that are not the gateway’s are told of', async (t) => {
  const found = await findings(['--port', '1', '--ops-port', '0']);
  t.match(
    found.filter(({ check }) => check === 'ports'),
    [{ level: /warning|problem/ }, { level: 'ok' }],
  );
});

t.test('ports of another gateway are a warning', async (t) => {
  const args = ['--json', '--data-dir', `${gateway.dataDir}-other`, '--port', port];
  const { stdout } = await runCommand(['doctor', ...args, '--ops-port', opsPort]);
  const { findings: found } = JSON.parse(stdout) as { findings: Finding[] };
  t.match(
    found.filter(({ check }) => check === 'ports'),
    [
      { level: 'warning', message: /another data directory/ },
      { level: 'warning', message: /another data directory/ },
    ],
  );
  const user = await gateway.user();
  t.equal((await submit(gateway.url, user.key, signal())).status, 202);
});

t.test('a gateway that does not answer is not taken for another program', async (t) => {
  const child = gateway.process.process;
  child.kill('SIGSTOP');
  t.teardown(() => child.kill('SIGCONT'));
  const found = await findings(['--port', port, '--ops-port', opsPort]);
  t.match(
    found.filter(({ check }) => check === 'ports'),
    [
      { level: 'warning', message: new RegExp(`does not answer .*process ${child.pid}`) },
      { level: 'warning', message: /does not answer/ },
    ],
  );
});
