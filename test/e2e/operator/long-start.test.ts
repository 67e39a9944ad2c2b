/** A start that reads many open orders: the ops port answers meanwhile, and the API port opens afterwards. */
import { mkdirSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import t from 'tap';
import { openStore } from '../../../src/store/lmdb-store.js';
import { acceptedSignal, putSignal } from '../../support/accepted-signal.js';
import { freePort } from '../../support/free-port.js';
import { dataDirOf } from '../../support/gateway.js';
import { startGateway } from '../../support/gateway-process.js';

const orders = 20_000;

t.test(
  'the ops port answers that the gateway is starting, until it has read its orders',
  async (t) => {
    const dataDir = dataDirOf(t);
    mkdirSync(dataDir, { mode: 0o700 });
    const store = openStore(dataDir);
    const now = Date.now();
    for (let i = 0; i < orders; i += 1_000) {
      await store.write((batch) => {
        for (let j = i; j < i + 1_000; j++)
          putSignal(batch, acceptedSignal({ userId: 'usr_1', acceptedAt: now + j }));
      });
    }
    await store.close();
    const port = await freePort();
    const gateway = startGateway({ dataDir, flags: ['--ops-port', `${port}`] });
    const isReady = gateway.then(() => true);
    const ask = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
    let answer: Response | undefined;
    do answer = await ask('/readyz').catch(() => undefined);
    while (answer === undefined && !(await Promise.race([isReady, setTimeout(5, false)])));
    t.equal(await answer?.text(), 'starting');
    t.equal(answer?.status, 503);
    // If the start read all orders in one turn of the loop, it would answer only before or after that turn.
    const metrics = await (await ask('/metrics')).text();
    const read = Number(/^signalbox_open_executions (\d+)$/m.exec(metrics)?.[1]);
    t.ok(read > 0 && read < orders, `${read} orders are read`);
    await gateway;
    t.equal((await ask('/readyz')).status, 200);
    await (await gateway).stop();
  },
);
