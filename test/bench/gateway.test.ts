import { readFileSync } from 'node:fs';
import t from 'tap';
import { thisProduct as product } from '../../bench/measure/product.js';
import { closeGateway, startGateway } from '../../bench/sides/gateway.js';
import { populate } from '../../bench/sides/population.js';
import { signalbox } from '../support/signalbox.js';

t.test('a bench measures the command that is installed', async (t) => {
  const population = await populate({ product, users: 1, keysPerUser: 1 });
  const gateway = await startGateway({ product, population });
  t.teardown(() => closeGateway(gateway, population));
  const words = readFileSync(`/proc/${gateway.pid}/cmdline`, 'latin1').split('\0');
  t.equal(words[words.indexOf('serve') - 1], signalbox);
});
