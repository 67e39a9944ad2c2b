/** The ops port after traffic: health, readiness, and numbers that agree with what was done. */
import t from 'tap';
import { bearer, call, signal, submit } from '../../support/api.js';
import { cancelReport, event, report, tell } from '../../support/frames.js';
import { startTestGateway } from '../../support/gateway.js';
import { eventually } from '../../support/eventually.js';
import { openReader } from '../../support/event-reader.js';

const gateway = await startTestGateway(t);

type Samples = ReadonlyMap<string, number>;

/** A `/metrics` text may be a second old: asks until `fits`. */
async function scrape(fits: (samples: Samples) => boolean = () => true): Promise<Samples> {
  return eventually(async () => {
    const samples = parse((await call(gateway.process.opsUrl, 'GET', '/metrics')).text);
    return fits(samples) && samples;
  });
}

const sample =
  /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\.)*",?)*\})? (\S+)$/;

function parse(text: string): Samples {
  const samples = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const match = sample.exec(line);
    if (match === null) throw new Error(`not a sample: ${line}`);
    const key = `${match[1]}${match[2] ?? ''}`;
    if (samples.has(key)) throw new Error(`twice: ${key}`);
    const value = match[3] === '+Inf' ? Infinity : Number(match[3]);
    if (Number.isNaN(value)) throw new Error(`no number: ${line}`);
    samples.set(key, value);
  }
  return samples;
}

t.test('healthz and readyz say that it is alive and ready', async (t) => {
  for (const path of ['/healthz', '/readyz']) {
    const answer = await call(gateway.process.opsUrl, 'GET', path);
    t.equal(answer.status, 200, path);
    t.equal((await call(gateway.process.opsUrl, 'HEAD', path)).status, 200);
  }
  t.equal((await call(gateway.process.opsUrl, 'GET', '/nothing')).status, 404);
  t.equal((await call(gateway.process.opsUrl, 'POST', '/metrics')).status, 405);
  t.equal((await call(gateway.url, 'GET', '/metrics')).status, 404, 'not on the API port');
});

t.test('the exposition is well-formed: help, type, buckets that cumulate', async (t) => {
  const answer = await call(gateway.process.opsUrl, 'GET', '/metrics');
  t.match(answer.headers.get('content-type'), /^text\/plain; version=0\.0\.4/);
  const samples = parse(answer.text);
  for (const key of samples.keys()) t.match(key, /^signalbox_/);
  const families = [...answer.text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  for (const [, name, type] of families) {
    t.match(answer.text, new RegExp(`^# HELP ${name} \\S`, 'm'));
    t.match(type, /^(?:counter|gauge|histogram|summary)$/);
    if (type === 'counter') t.match(name, /_total$/);
  }
  const names = families.map(([, name]) => name);
  t.equal(new Set(names).size, names.length);
  for (const name of names) t.notMatch(name, /_(?:ms|milliseconds|kb|mb)(?:_|$)/, 'base units');
});

t.test('counters and gauges agree with the traffic', async (t) => {
  const user = await gateway.user();
  const before = await scrape();
  const plugin = await gateway.plugin(user);
  const reader = await openReader(gateway.url, user.key);
  const filled = await gateway.order(user, plugin);
  const fill = { fillId: 'f', price: 1, quantity: 0.5, filledAt: '2026-01-01T00:00:00Z' };
  await tell(plugin, report(1, filled.executionId, 'partially_filled', { fill }));
  await tell(plugin, report(2, filled.executionId, 'partially_filled', { fill }));
  await tell(plugin, report(3, filled.executionId, 'filled'));
  await tell(plugin, report(4, filled.executionId, 'working'));
  const resting = await gateway.order(user, plugin);
  await tell(plugin, report(5, resting.executionId, 'working'));
  await gateway.cancel(user, resting.orderRef);
  const { cancelRequestId } = await plugin.next('cancel');
  await tell(plugin, cancelReport(6, cancelRequestId, 'cancelled'));
  const open = await gateway.order(user, plugin);
  await tell(plugin, event(7));
  await submit(gateway.url, user.key, signal({ platform: 'terminal_b' }));
  t.equal((await submit(gateway.url, user.key, signal({ v: 2 }))).status, 422);
  await call(gateway.url, 'GET', '/api/v1/terminal-events/sources', { headers: bearer('nobody') });
  plugin.send('bad');
  await plugin.next('error');

  const accepted = 4;
  const after = await scrape(
    (samples) =>
      grown(samples, 'signalbox_signals_accepted_total') === accepted &&
      grown(samples, 'signalbox_plugin_frames_rejected_total') === 1,
  );
  function grown(samples: Samples, key: string): number {
    return (samples.get(key) ?? 0) - (before.get(key) ?? 0);
  }
  const expected: Record<string, number> = {
    'signalbox_http_requests_total{operation="submit-signal",status="202"}': accepted,
    'signalbox_http_requests_total{operation="submit-signal",status="422"}': 1,
    'signalbox_http_requests_total{operation="list-sources",status="401"}': 1,
    'signalbox_http_requests_total{operation="cancel-order",status="202"}': 1,
    // The stream is still open: it counts from its opening, and not for as long as it lasts.
    'signalbox_http_requests_total{operation="stream-events",status="200"}': 1,
    'signalbox_http_request_duration_seconds_count{operation="stream-events"}': 1,
    signalbox_accept_duration_seconds_count: accepted,
    signalbox_dispatch_duration_seconds_count: 3,
    signalbox_confirm_duration_seconds_count: 2,
    signalbox_submits_sent_total: 3,
    signalbox_reports_ignored_total: 2,
    signalbox_fills_duplicate_total: 1,
    'signalbox_executions_total{status="filled"}': 1,
    'signalbox_executions_total{status="cancelled"}': 1,
    'signalbox_executions_total{status="denied"}': 1,
    'signalbox_executions_total{status="dispatched"}': 3,
    signalbox_connected_plugins: 1,
    signalbox_open_streams: 1,
    signalbox_open_executions: 1,
    signalbox_commits_failed_total: 0,
  };
  for (const [key, growth] of Object.entries(expected)) t.equal(grown(after, key), growth, key);
  t.ok(grown(after, 'signalbox_events_published_total') >= 10);
  t.ok((after.get('signalbox_store_size_bytes') ?? 0) > 0);
  t.ok(grown(after, 'signalbox_commit_duration_seconds_count') > 0);
  t.ok(open.executionId);

  plugin.cut();
  reader.close();
  await scrape(
    (samples) =>
      grown(samples, 'signalbox_connected_plugins') === 0 &&
      grown(samples, 'signalbox_open_streams') === 0,
  );
});

t.test('each end of a connection and of a stream is counted under its reason', async (t) => {
  const before = await scrape();
  const user = await gateway.user();
  const left = await gateway.plugin(user);
  left.cut();
  const first = await gateway.plugin(user, { instanceId: 'desk-2' });
  const second = await gateway.plugin(user, { instanceId: 'desk-2' });
  await first.waitClosed();
  for (let i = 0; i < 3; i++) second.send('bad');
  await second.waitClosed();
  await gateway.plugin(user, { instanceId: 'desk-3' });
  const leaver = await openReader(gateway.url, user.key);
  const revoked = await openReader(gateway.url, user.key);
  leaver.close();
  await call(gateway.url, 'DELETE', `/api/api-keys/${user.keyId}`, {
    headers: bearer(user.token),
  });
  await revoked.waitEnd();
  await gateway.command('session', 'revoke', user.email);
  const expected = {
    'signalbox_plugin_connections_closed_total{reason="terminal_left"}': 1,
    'signalbox_plugin_connections_closed_total{reason="replaced"}': 1,
    'signalbox_plugin_connections_closed_total{reason="bad_protocol"}': 1,
    'signalbox_plugin_connections_closed_total{reason="session_revoked"}': 1,
    'signalbox_streams_closed_total{reason="client_left"}': 1,
    'signalbox_streams_closed_total{reason="not_allowed"}': 1,
  };
  const grown = (after: Samples): Map<string, number> =>
    new Map(
      [...after]
        .filter(([key]) => key.includes('_closed_total{'))
        .map(([key, value]) => [key, value - (before.get(key) ?? 0)] as const)
        .filter(([, growth]) => growth > 0),
    );
  const after = await scrape((samples) => grown(samples).size >= Object.keys(expected).length);
  t.same(Object.fromEntries(grown(after)), expected);
});

t.test('a plugin that is refused is counted under its reason', async (t) => {
  const reason = 'invalid_session';
  const key = `signalbox_plugin_upgrades_refused_total{reason="${reason}"}`;
  const before = (await scrape()).get(key);
  const user = await gateway.user();
  await gateway.command('session', 'revoke', user.email);
  await t.rejects(gateway.plugin(user));
  const after = await scrape((samples) => samples.get(key) !== before);
  t.equal(after.get(key), (before ?? 0) + 1);
});

t.test('no label takes a value from outside, so that traffic makes no new series', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const touch = async (round: string): Promise<void> => {
    const headers = bearer(user.key);
    await submit(gateway.url, user.key, signal({ type: round, cmd: round, instanceId: round }));
    await call(gateway.url, 'GET', `/api/v1/signals/req_${round}`, { headers });
    await call(gateway.url, 'GET', `/api/v1/${round}`, { headers });
    await call(gateway.url, 'GET', `/${round}?${round}=1`, { headers });
    await call(gateway.url, 'PUT', `/api/v1/signals`, { headers });
    await gateway.cancel(user, `ord_${round}`);
    const other = await gateway.plugin(user, { instanceId: round, accountName: round });
    other.send(event(1, { rawText: round }));
    await other.next('ack');
    other.close();
  };
  await touch('first');
  const series = async (): Promise<string[]> => {
    // The second scrape, with another processor time, is newer than all that was done.
    const first = await scrape();
    const loops = first.get('signalbox_process_cpu_seconds_total');
    return [
      ...(
        await scrape((samples) => samples.get('signalbox_process_cpu_seconds_total') !== loops)
      ).keys(),
    ].sort();
  };
  const before = await series();
  for (let round = 0; round < 20; round++) await touch(`round-${round}`);
  const after = await series();
  /** Node's own metrics, whose series appear when something first happens, with or without traffic. */
  const ofNode = /active_(?:handles|requests|resources)|nodejs_gc/;
  /** Answers while the disk hangs, as on a busy machine. */
  const ofDisk = /operation="submit-signal",status="(?:409|500|503)"/;
  t.same(
    after.filter((key) => !before.includes(key) && !ofNode.test(key) && !ofDisk.test(key)),
    [],
  );
  const identifiers = [user.email, user.key.slice(0, 14), 'Sim101', 'desk-1', 'req_', 'exe_'];
  for (const word of identifiers)
    t.notOk(
      after.some((key) => key.includes(word)),
      word,
    );
  plugin.close();
});
