/** A flood of connections, which needs no credential, against a gateway with few open files. */
import { existsSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import t from 'tap';
import { eventually } from '../../support/eventually.js';
import { runCommand } from '../../support/command.js';
import { dataDirOf } from '../../support/gateway.js';
import { startGateway } from '../../support/gateway-process.js';

const openFilesMax = 128;
const few = ['/bin/sh', '-c', `ulimit -n ${openFilesMax}; exec "$@"`, 'sh'];
const skip = existsSync('/proc/self/fd') ? false : 'needs /proc';

t.test(
  'a flood of connections leaves the operator its commands and probes',
  { skip },
  async (t) => {
    const dataDir = dataDirOf(t);
    const gateway = await startGateway({ dataDir, under: few });
    t.teardown(() => gateway.kill());
    const { url, opsUrl } = gateway;
    const open = new Set<Socket>();
    let isFlooding = true;
    let refused = 0;
    function flood(): void {
      const socket = connect(Number(new URL(url).port), '127.0.0.1');
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        refused++;
        if (isFlooding) setTimeout(flood, 20);
      });
    }
    t.teardown(() => {
      isFlooding = false;
      for (const socket of open) socket.destroy();
    });
    for (let i = 0; i < 2 * openFilesMax; i++) flood();
    await eventually(() => refused > openFilesMax);

    t.equal((await fetch(`${opsUrl}/readyz`)).status, 200);
    const metrics = await (await fetch(`${opsUrl}/metrics`)).text();
    t.match(metrics, /^signalbox_connections_refused_total [1-9]/m);
    const run = (...args: string[]) => runCommand([...args, '--data-dir', dataDir]);
    t.match(await run('halt'), { code: 0 });
    t.match(await run('backup', `${dataDir}-copy`), { code: 0 });
    const line = gateway
      .log()
      .split('\n')
      .find((each) => each.includes('LimitNOFILE'));
    t.match(JSON.parse(line ?? '{}'), { level: 'warn', refused: 1, openFilesMax });
  },
);
