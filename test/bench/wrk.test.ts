import t from 'tap';
import { runWrk, wrkSubmits } from '../../bench/load/wrk.js';
import { workloads } from '../../bench/load/workloads.js';
import { thisProduct as product } from '../../bench/measure/product.js';
import { missing } from '../../bench/measure/requirements.js';
import { closeGateway, startGateway } from '../../bench/sides/gateway.js';
import { populate } from '../../bench/sides/population.js';

t.test(
  'every signal that wrk sends is accepted, and what it asks for is answered',
  { skip: missing(['wrk']).length > 0 && 'run bench/setup.sh for wrk' },
  async (t) => {
    const population = await populate({ product, users: 40, keysPerUser: 5 });
    const gateway = await startGateway({ product, population });
    t.teardown(() => closeGateway(gateway, population));
    const { url } = gateway;
    const load = { url, connections: 4, seconds: 1 };
    const { requestsPerSecond, p99Ms } = await wrkSubmits({ ...load, keys: population.keys });
    t.ok(requestsPerSecond > 0 && p99Ms > 0);
    const caller = { key: population.keys[0] as string, requestId: `req_${'0'.repeat(26)}` };
    const request = workloads.status.source([caller], '').next(0);
    await t.rejects(runWrk({ ...load, request }), /Non-2xx/, 'what nobody has is no figure');
  },
);
