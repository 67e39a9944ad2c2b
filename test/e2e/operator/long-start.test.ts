/** A start that reads many open orders: the ops port answers meanwhile, and the API port opens behind it. */
import { mkdirSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import t from 'tap';
import { openStore } from '../../../src/store/lmdb-store.js';
import { acceptedSignal, putSignal } from '../../support/accepted-signal.js';
import { freePort } from '../../support/free-port.js';
import { dataDirOf, startGateway } from '../../support/gateway-process.js';

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
    const answers = new Map<string, number>();
    const isReady = gateway.then(() => true);
    do {
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
      if (answer === undefined) continue;
      const text = `${answer.status} ${await answer.text()}`;
      answers.set(text, (answers.get(text) ?? 0) + 1);
    } while (!(await Promise.race([isReady, setTimeout(10, false)])));
    await (await gateway).stop();
    // One may wait for a start that reads all orders in one turn of the loop, and one for its other steps.
    t.ok((answers.get('503 starting') ?? 0) > 3, [...answers].join());
  },
);
