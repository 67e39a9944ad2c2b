/** What prom-client does with what we give it: native-notes/metrics.md. */
import { collectDefaultMetrics, Counter, Registry, type Metric } from 'prom-client';
import t from 'tap';

t.test('an object with a name that answers get() is a metric to a registry', async (t) => {
  const registry = new Registry();
  const metric = {
    name: 'x_total',
    get: () => ({
      name: 'x_total',
      help: 'x',
      type: 'counter',
      values: [{ metricName: 'x_total', labels: { a: 'b' }, value: 3 }],
    }),
  };
  registry.registerMetric(metric as unknown as Metric);
  t.match(await registry.metrics(), /# TYPE x_total counter\nx_total\{a="b"\} 3\n/);
});

t.test('a scrape holds the loop from its beginning to its end', async (t) => {
  const registry = new Registry();
  for (let i = 0; i < 200; i++) {
    const counter = new Counter({
      name: `c${i}`,
      help: 'x',
      labelNames: ['l'],
      registers: [registry],
    });
    for (let l = 0; l < 50; l++) counter.inc({ l });
  }
  let turns = 0;
  const turn = (): void => {
    turns++;
    setImmediate(turn).unref();
  };
  setImmediate(turn).unref();
  await registry.metrics();
  t.equal(turns, 0);
});

t.test('its event-loop lag is NaN for a scrape within the monitor’s first turn', async (t) => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  t.match(await registry.metrics(), /nodejs_eventloop_lag_mean_seconds Nan/i);
});
