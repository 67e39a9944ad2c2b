/** Rules and dashboard against the exposed metrics; needs nothing but Node. */
import t from 'tap';
import { latencyBounds } from '../../src/lib/instruments.js';
import { routes } from '../../src/routes.js';
import { executionStates } from '../../src/model/execution.js';
import { createInstruments } from '../../src/telemetry/instruments.js';
import { createMetrics } from '../../src/telemetry/metrics.js';
import { createHostMetrics } from '../../src/telemetry/host-metrics.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { alerts, dashboard, dashboardQueries, recordings, selectorsOf } from './rule-files.js';

/** Series names by family, as the exposition announces them. */
const families = await exposedFamilies(t.testdir());
const exposed = new Set([...families.values()].flat());
const recorded = new Set(recordings.map(({ record }) => record));
const expressions = [
  ...alerts.map(({ alert, expr }) => ({ place: alert, expr })),
  ...recordings.map(({ record, expr }) => ({ place: record, expr })),
  ...dashboardQueries.map((expr) => ({ place: 'dashboard', expr })),
];

async function exposedFamilies(dataDir: string): Promise<Map<string, readonly string[]>> {
  const clock = new SimulatedClock();
  const zero = (): number => 0;
  const metrics = createMetrics(
    createInstruments(routes),
    {
      connectedPlugins: zero,
      hashPoolQueue: zero,
      hashPoolQueueMax: zero,
      openExecutions: zero,
      storeBytes: zero,
      indexLagMs: zero,
      indexWaitingBytes: zero,
      openStreams: zero,
      isHalted: () => false,
      isPublicApiEnabled: () => true,
      isReady: () => true,
      committedAt: zero,
      commitAgeMs: zero,
      retentionLagMs: zero,
      retentionRemovals: zero,
      version: '',
      hostMetrics: createHostMetrics({ dataDir, tlsCert: undefined, clock }),
    },
    clock,
  );
  const types = (await metrics.scrape()).matchAll(/^# TYPE (\S+) (\S+)$/gm);
  return new Map(
    [...types].map(([, name = '', type]) => [
      name,
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ]),
  );
}

t.test('every metric that a rule or the dashboard names is exposed or recorded', async (t) => {
  t.ok(dashboardQueries.length > 50);
  for (const { place, expr } of expressions) {
    const selectors = selectorsOf(expr);
    t.ok(selectors.length > 0 || /\bup\{|ALERTS\{/.test(expr), `${place} names a metric: ${expr}`);
    for (const { name } of selectors) {
      t.ok(exposed.has(name) || recorded.has(name), `${place}: ${name}`);
    }
  }
});

t.test('a label is matched only against values that it can have', async (t) => {
  const values: Readonly<Record<string, readonly string[]>> = {
    le: [...latencyBounds.map(String), '+Inf'],
    operation: [...routes.map(({ operation }) => operation), 'none'],
    quantile: ['0.5', '0.99', '1'],
    job: ['signalbox'],
    alertstate: ['firing'],
  };
  for (const { place, expr } of expressions) {
    for (const [, label = '', alternatives = ''] of expr.matchAll(/(\w+)!?=~?"([^"]*)"/g)) {
      const known = expr.includes('executions_total{') ? Object.keys(executionStates) : undefined;
      const possible = label === 'status' ? known : values[label];
      if (possible === undefined) continue;
      for (const value of alternatives.split('|')) {
        t.ok(possible.includes(value), `${place}: ${label}="${value}"`);
      }
    }
  }
});

t.test(
  'every metric of the gateway’s own is watched by a rule or shown on the dashboard',
  async (t) => {
    const used = new Set(
      expressions.flatMap(({ expr }) => selectorsOf(expr)).map(({ name }) => name),
    );
    const libraryOwn = /^signalbox_(?:nodejs|process)_/;
    for (const [family, names] of families) {
      if (libraryOwn.test(family)) continue;
      t.ok(
        names.some((name) => used.has(name)),
        family,
      );
    }
  },
);

t.test('every recorded figure is used', async (t) => {
  const used = new Set(
    expressions.flatMap(({ expr }) => selectorsOf(expr)).map(({ name }) => name),
  );
  for (const name of recorded) t.ok(used.has(name), name);
});

t.test('every panel says what it shows, and every query follows the chosen gateways', async (t) => {
  const asked = dashboard.panels.filter(({ type }) => type !== 'row');
  t.ok(asked.length > 30);
  for (const { title, description = '', targets = [] } of asked) {
    t.match(description, /^\S.*\.$/, title);
    t.ok(targets.length > 0, title);
    for (const { expr } of targets) {
      for (const { text } of selectorsOf(expr)) {
        t.match(text, 'job="signalbox", instance=~"$instance"', `${title}: ${text}`);
      }
    }
  }
  t.same(
    dashboard.templating.list.map(({ name }) => name),
    ['datasource', 'instance'],
  );
});

t.test('what a panel counts is a whole number, though an increase is extrapolated', async (t) => {
  const counts = dashboard.panels.filter(({ targets = [] }) =>
    targets.some(({ expr }) => expr.startsWith('increase(')),
  );
  t.ok(counts.length > 1);
  for (const { title, fieldConfig } of counts) t.equal(fieldConfig?.defaults.decimals, 0, title);
});
