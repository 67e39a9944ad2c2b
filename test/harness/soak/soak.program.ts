/**
 * The soak: `npm run test:soak -- --minutes N [--rate R] [--seed S]`. Mixed traffic of R deeds a second
 * for N minutes, users that come and go, retention sweeps running; then every figure that a leak would
 * move must have stayed flat since the first third. Ends with exit code 1 where one grows.
 */
import { join } from 'node:path';
import { parseScrape, sumOf } from '../../../src/stats/scrape.js';
import { askOps } from '../ask-ops.js';
import { eventually } from '../../support/eventually.js';
import { startGateway } from '../../support/gateway-process.js';
import { runTrial } from '../harness-run.js';
import { Collector, inspectorOption } from './garbage-collector.js';
import { readGauges, readStore, type Reading } from './gauges.js';
import { Population, usersAtOnce } from './population.js';
import { Traffic } from './traffic.js';
import { told, WindowRecord } from './window-record.js';

const heartbeatWindowMs = 8_000;
const config = {
  limits: {
    heartbeatWindowMs,
    executionConfirmTimeoutMs: 4_000,
    cancelConfirmTimeoutMs: 2_000,
    idempotencyRetentionMs: 10_000,
    replayAgeMs: 10_000,
    loginAttemptsPerMinute: 1_000_000,
    unauthenticatedAttemptsPerMinute: 1_000_000,
    keyRequestsPerMinute: 100_000,
  },
  plans: { business: { signalsPerMinute: 100_000, signalsPerDay: 100_000_000 } },
};

const readingMs = 1_000;
const windowsWanted = 40;
const windowMsMin = 3_000;
const windowMsMax = 60_000;
/** A user stays for this, times the number of users at once, and a part of the run at most. */
const turnOverMsMax = 20_000;
const turnOversMin = 12;
/** Runs from this length on wait for the sweep to remove what the last users left. */
const sweptMinutesMin = 5;
const sweptWithinMs = 240_000;
/** An idle connection may be closed just when this process, held up, writes to it again. */
const cutMin = 3;
const cutPart = 0.001;
/** Shorter runs are over before time has called anything unknown. */
const outcomesMinutesMin = 0.5;
/** Every way in which a signal can go must have been gone. */
const outcomes = ['filled', 'rejected', 'cancelled', 'expired', 'unknown', 'denied', 'working'];
const ofUsers = [
  'requests',
  'openExecutions',
  'finalExecutions',
  'idempotency',
  'signalIds',
  'sources',
  'apiKeys',
  'apiKeyHashes',
  'apiKeyUses',
] as const;

await runTrial(
  'soak',
  { minutes: '2', rate: '100' },
  async ({ options, chance, directory, verdict, atExit }) => {
    const minutes = Number(options.minutes);
    const totalMs = minutes * 60_000;
    const windowMs = Math.min(windowMsMax, Math.max(windowMsMin, totalMs / windowsWanted));
    const dataDir = join(directory, 'data');
    const gateway = await startGateway({
      dataDir,
      config,
      environment: { NODE_OPTIONS: inspectorOption },
    });
    atExit(() => void gateway.process.kill('SIGKILL'));

    const state = { isOver: false };
    gateway.process.once('exit', (code, signal) => {
      if (state.isOver) return;
      console.log(
        `the gateway ended by itself: ${String(code)} ${String(signal)}\n${gateway.log()}`,
      );
      process.exit(1);
    });
    const collector = await Collector.open(gateway.log);
    const population = new Population({
      url: gateway.url,
      dataDir,
      configFile: `${dataDir}.config.json`,
      heartbeatMs: heartbeatWindowMs / 4,
      chance,
    });
    await population.settle();
    const traffic = new Traffic(gateway.url, population, chance.child('traffic'), verdict);
    traffic.start(Number(options.rate));
    const startedAt = performance.now();
    const turnOverMs = Math.min(turnOverMsMax, totalMs / turnOversMin);
    const turningOver = (async () => {
      for (let next = turnOverMs; performance.now() - startedAt < totalMs; next += turnOverMs) {
        await until(next);
        await population.turnOver();
      }
    })();

    const record = new WindowRecord();
    for (let end = windowMs; end <= totalMs; end += windowMs) {
      for (let at = end - windowMs + readingMs; at <= end; at += readingMs) {
        await until(at);
        // The last reading of a window is of what is in use; a scrape may be a second old.
        if (at + 2 * readingMs > end) await collector.collect();
        record.take(await readGauges(gateway, dataDir));
      }
      console.log(`${line(record.endWindow() as Reading)}, ${traffic.total} deeds`);
    }
    collector.close();
    state.isOver = true;
    await turningOver;
    await traffic.stop();

    const scrape = parseScrape((await askOps(gateway.opsUrl, '/metrics')).text);
    for (const outcome of minutes >= outcomesMinutesMin ? outcomes : []) {
      const count = sumOf(scrape, 'executions_total', ({ status }) => status === outcome) ?? 0;
      verdict.hold(`some executions come to be ${outcome}`, count > 0, () => count);
    }
    const errors = sumOf(scrape, 'internal_errors_total');
    verdict.hold('nothing unexpected happens', errors === 0, () => gateway.log());
    await population.leaveAll();
    if (minutes >= sweptMinutesMin) await inspectSwept();
    console.log(record.judge(verdict, minutes, windowMs));
    const cutMost = cutMin + traffic.total * cutPart;
    verdict.hold('connections are not cut', traffic.cut <= cutMost, () => traffic.cut);
    verdict.hold('it ends well', (await gateway.stop()) === 0, () => gateway.log());
    console.log(
      `${Object.entries(traffic.done)
        .map(([deed, count]) => `${deed} ${count}`)
        .join(', ')}; ` +
        `${traffic.skipped} not begun for too many under way, ${traffic.cut} cut; ${population.added} users added, ` +
        `${population.deleted} deleted, ${usersAtOnce} at once`,
    );
    return `${minutes} minutes, ${traffic.total} deeds`;

    async function inspectSwept(): Promise<void> {
      const left = (): string[] => {
        const { rows } = readStore(dataDir);
        return ofUsers.filter((name) => rows[name] > 0).map((name) => `${name}: ${rows[name]}`);
      };
      const isGone = await eventually(() => left().length === 0, sweptWithinMs).catch(() => false);
      verdict.hold('a user who is gone leaves nothing behind', isGone, left);
    }

    function until(atMs: number): Promise<void> {
      const ms = Math.max(0, startedAt + atMs - performance.now());
      return new Promise((resolve) => setTimeout(resolve, ms));
    }

    function line(reading: Reading): string {
      const mb = (value: number): string => told(value, { unit: 'MB' });
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
      return (
        `${seconds} s: heap ${mb(reading.heapUsed)}, external ${mb(reading.external)}, resident ` +
        `${mb(reading.resident)} (own ${mb(reading.residentOwn)}), ${reading.fileDescriptors} fds, ` +
        `${reading.handles} handles, store ${mb(reading.storeFile)} with ${reading.rows} rows, ` +
        `${reading.pagesUsed} pages used, ${reading.pagesFree} free`
      );
    }
  },
);
