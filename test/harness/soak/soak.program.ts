/**
 * The soak harness: `npm run test:soak -- --minutes N [--rate R] [--seed S]`. Mixed traffic of R
 * actions per second for N minutes, with users that come and go and retention sweeps; then no figure
 * that a leak would move may have grown since the first third of the run. Exits with 1 if one has.
 */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseScrape, sumOf } from '../../../src/stats/scrape.js';
import { askOps } from '../ask-ops.js';
import { checkWithDoctor } from '../crash/doctor-check.js';
import { eventually } from '../../support/eventually.js';
import { startGateway } from '../../support/gateway-process.js';
import { runHarness } from '../harness-run.js';
import { GarbageCollector, inspectorOption } from './garbage-collector.js';
import { descriptorsOf, readProcess, readStore, longRunMinutes, type Reading } from './gauges.js';
import { Population, usersAtOnce } from './population.js';
import { Traffic } from './traffic.js';
import { formatted, WindowRecord } from './window-record.js';

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
/** Rarer than `readingMs`: the gateway makes a copy of the store for each reading. */
const storeReadingMs = 10_000;
const windowsWanted = 40;
const windowMsMin = 3_000;
/** Rows grow from sweep to sweep: windows of another length would end at different points of that growth. */
const sweepMs = 60_000;
/** Time between two turnovers of users, at most a twelfth of the run. */
const turnOverMsMax = 20_000;
const turnOversMin = 12;
/** Runs of this length or more wait until the sweep has removed the rows of the last users. */
const sweptMinutesMin = 5;
const sweptWithinMs = 240_000;
/** Clients close idle connections after four seconds, the gateway after ten. */
const closedWithinMs = 60_000;
/** Shorter runs end before the first timeout causes `unknown`. */
const outcomesMinutesMin = 0.5;
/** Statuses of executions that must have occurred. */
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

await runHarness(
  'soak',
  { minutes: 2, rate: 100 },
  async ({ options: { minutes, rate }, chance, directory, verdict }) => {
    const totalMs = minutes * 60_000;
    const windowMs =
      minutes >= longRunMinutes ? sweepMs : Math.max(windowMsMin, totalMs / windowsWanted);
    const dataDir = join(directory, 'data');
    const gateway = await startGateway({
      dataDir,
      config,
      environment: { NODE_OPTIONS: inspectorOption },
    });
    const state = { isOver: false };
    gateway.process.once('exit', (code, signal) => {
      if (state.isOver) return;
      console.log(
        `the gateway ended by itself: ${String(code)} ${String(signal)}\n${gateway.log()}`,
      );
      process.exit(1);
    });
    const collector = await GarbageCollector.open(gateway.log);
    const population = new Population({
      url: gateway.url,
      dataDir,
      configFile: `${dataDir}.config.json`,
      heartbeatMs: heartbeatWindowMs / 4,
      chance,
    });
    await population.fill();
    const pid = gateway.process.pid as number;
    const descriptors = descriptorsOf(pid);
    const traffic = new Traffic(gateway.url, population, chance.child('traffic'), verdict);
    traffic.start(rate);
    const startedAt = performance.now();
    const turnOverMs = Math.min(turnOverMsMax, totalMs / turnOversMin);
    const turningOver = (async () => {
      for (let next = turnOverMs; performance.now() - startedAt < totalMs; next += turnOverMs) {
        await until(next);
        await population.turnOver();
      }
    })();

    const record = new WindowRecord();
    let storeReadAt = 0;
    for (let end = windowMs; end <= totalMs; end += windowMs) {
      for (let at = end - windowMs + readingMs; at <= end; at += readingMs) {
        await until(at);
        // Collect before the last readings of a window; the gateway caches a scrape for a second.
        if (at + 2 * readingMs > end) await collector.collect();
        record.take(await readProcess(gateway));
        if (at + readingMs > end || at - storeReadAt >= storeReadingMs) {
          record.take((await readStore(dataDir)).reading);
          storeReadAt = at;
        }
      }
      console.log(`${line(record.endWindow())}, ${traffic.total} actions`);
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
    await checkWithDoctor(dataDir, verdict, 'the doctor finds it well');
    await population.deleteAll();
    await checkDescriptors();
    if (minutes >= sweptMinutesMin) await inspectSwept();
    console.log(record.judge(verdict, minutes, windowMs));
    verdict.hold('it ends well', (await gateway.stop()) === 0, () => gateway.log());
    console.log(
      `${Object.entries(traffic.done)
        .map(([action, count]) => `${action} ${count}`)
        .join(', ')}; ` +
        `${traffic.skipped} not begun for too many under way; ${population.added} users added, ` +
        `${population.deleted} deleted, ${usersAtOnce} at once`,
    );
    return `${minutes} minutes, ${traffic.total} deeds`;

    /** Without users and traffic no more descriptors are open than with idle users at the beginning. */
    async function checkDescriptors(): Promise<void> {
      const isBack = await eventually(
        () => descriptorsOf(pid) <= descriptors,
        closedWithinMs,
      ).catch(() => false);
      verdict.hold('descriptors return to where they were', isBack, () => ({
        before: descriptors,
        after: descriptorsOf(pid),
      }));
    }

    async function inspectSwept(): Promise<void> {
      let left: string[] = [];
      const isGone = await eventually(async () => {
        const { rows } = await readStore(dataDir);
        left = ofUsers.filter((name) => rows[name] > 0).map((name) => `${name}: ${rows[name]}`);
        // Each reading is a copy of the store.
        if (left.length > 0) await pause(1_000);
        return left.length === 0;
      }, sweptWithinMs).catch(() => false);
      verdict.hold('a user who is gone leaves nothing behind', isGone, () => left);
    }

    function until(atMs: number): Promise<void> {
      return pause(Math.max(0, startedAt + atMs - performance.now()));
    }

    function line(reading: Reading): string {
      const mb = (value: number): string => formatted(value, { unit: 'MB' });
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
