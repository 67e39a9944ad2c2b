/**
 * Requests at even intervals, whether or not answers come. Each is measured from the moment when it
 * was meant to be sent, so that a server that stalls is charged for every request that had to wait
 * meanwhile, also for those that found no connection free (no coordinated omission).
 */
import { Connection } from './connection.js';
import type { LoadReportJson, LoadSpec } from './load.js';
import { Measurement } from './measurement.js';
import { addressOf } from './raw-socket.js';
import type { RequestSource } from './workload.js';
import { workloads } from './workloads.js';

/** Time after the last request: a request without an answer by then counts as unanswered. */
const drainMs = 30_000;
/** Timers are late by up to a millisecond or so; whatever is due sooner is waited for in naps. */
const timerSlackMs = 2;
/**
 * Longest nap, in which answers wait to be read. Turning without a nap takes a whole core, which on two cores the
 * server needs: its tails were then those of the generator.
 */
const napMsMax = 0.1;
const napping = new Int32Array(new SharedArrayBuffer(4));

/** @param onSent is told of every request that is measured, right before it is sent. */
export function runOpenLoop(
  spec: LoadSpec,
  ratePerSecond: number,
  run: string,
  onSent: (sequence: number, intendedAt: number) => void = () => undefined,
): Promise<LoadReportJson> {
  const workload = workloads[spec.workload];
  const intervalMs = 1000 / ratePerSecond;
  const warmups = Math.round(spec.warmupSeconds * ratePerSecond);
  const total = warmups + Math.max(1, Math.round(spec.seconds * ratePerSecond));
  const grantsOf = spec.listsGrants === true ? spec.callers.length : undefined;
  const sources = new Map<Connection, RequestSource>();
  /** Connections that can send, the longest idle first: none is left to the server's idle timeout. */
  const free: Connection[] = [];
  let sent = 0;
  let ended = 0;
  let firstAt = 0;
  let measurement: Measurement | undefined;

  return new Promise((resolve) => {
    const begin = (): void => {
      firstAt = performance.now();
      const startedAt = firstAt + warmups * intervalMs;
      measurement = new Measurement(startedAt, workload.expected, spec.serverPid, grantsOf);
      setTimeout(() => measurement?.begin(), warmups * intervalMs);
      setTimeout(finish, total * intervalMs + drainMs).unref();
      turn();
    };

    /** Sends what is due, as far as there are connections for it. */
    const pump = (now: number): void => {
      const due = Math.min(total, Math.floor((now - firstAt) / intervalMs) + 1);
      while (sent < due && free.length > 0) {
        const connection = free.shift() as Connection;
        // Closed by the server while it was free: its next `onOpen` has brought it here again.
        if (!connection.isConnected || connection.isBusy) continue;
        const intendedAt = firstAt + sent * intervalMs;
        if (sent >= warmups) {
          measurement?.lateness.record(performance.now() - intendedAt);
          onSent(sent, intendedAt);
        }
        const source = sources.get(connection) as RequestSource;
        connection.send(source.next(sent), sent++, intendedAt);
      }
    };

    const turn = (): void => {
      const now = performance.now();
      pump(now);
      if (sent === total) return;
      const nextIn = firstAt + sent * intervalMs - now;
      if (nextIn > timerSlackMs) return void setTimeout(turn, nextIn - timerSlackMs);
      // Without a free connection an answer is what the next request waits for.
      if (free.length === 0) return void setTimeout(turn, timerSlackMs);
      if (nextIn > 0) Atomics.wait(napping, 0, 0, Math.min(nextIn, napMsMax));
      setImmediate(turn);
    };

    const isMeasured = (connection: Connection): boolean => connection.sequence >= warmups;

    const end = (): void => {
      ended++;
      if (ended === total) finish();
    };

    let isOver = false;
    const finish = (): void => {
      if (isOver || measurement === undefined) return;
      isOver = true;
      const now = performance.now();
      for (const connection of sources.keys()) {
        if (connection.isBusy && isMeasured(connection)) {
          measurement.lost(connection.intendedAt, now);
        }
      }
      for (let lost = Math.max(sent, warmups); lost < total; lost++) {
        measurement.lost(firstAt + lost * intervalMs, now);
      }
      sent = total;
      resolve(measurement.report(spec.seconds));
    };

    const events = {
      onOpen: (connection: Connection) => {
        free.push(connection);
        if (measurement === undefined && free.length === spec.connections) begin();
      },
      onAnswer: (connection: Connection, status: number) => {
        const now = performance.now();
        if (measurement !== undefined && isMeasured(connection)) {
          const { intendedAt, sequence } = connection;
          measurement.answer(status, intendedAt, now);
          if (grantsOf !== undefined) {
            measurement.grant(sequence % grantsOf, status, intendedAt, now);
          }
        }
        free.push(connection);
        end();
        pump(now);
      },
      onLost: (connection: Connection) => {
        if (isMeasured(connection)) measurement?.lost(connection.intendedAt, performance.now());
        end();
      },
    };
    const address = addressOf(spec.url);
    for (let i = 0; i < spec.connections; i++) {
      sources.set(new Connection(address, events), workload.source(spec.callers, run));
    }
  });
}
