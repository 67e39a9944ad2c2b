/**
 * Each connection sends its next request when it has the answer to the last one: shows what a server
 * can do. A measured time without an answer ends with the first answer, since there would be neither
 * a rate nor a latency.
 */
import { Connection } from './connection.js';
import type { LoadReportJson, LoadSpec } from './load.js';
import { Measurement } from './measurement.js';
import { addressOf } from './raw-socket.js';
import type { RequestSource } from './workload.js';
import { workloads } from './workloads.js';

/** After the measured time: a client without one answer by then gets none. */
const firstAnswerMs = 10_000;

export function runClosedLoop(spec: LoadSpec, run: string): Promise<LoadReportJson> {
  const workload = workloads[spec.workload];
  const startsAt = performance.now() + spec.warmupSeconds * 1000;
  const endsAt = startsAt + spec.seconds * 1000;
  const measurement = new Measurement(startsAt, workload.expected, spec.serverPid);
  const sources = new Map<Connection, RequestSource>();
  let sequence = 0;
  let isOver = false;
  setTimeout(() => measurement.begin(), spec.warmupSeconds * 1000);

  return new Promise((resolve) => {
    const finish = (): void => {
      if (isOver) return;
      isOver = true;
      resolve(measurement.report(spec.seconds));
    };
    const send = (connection: Connection, now: number): void => {
      const source = sources.get(connection) as RequestSource;
      connection.send(source.next(sequence), sequence++, now);
    };
    const events = {
      onOpen: (connection: Connection) => {
        if (!isOver) send(connection, performance.now());
      },
      onAnswer: (connection: Connection, status: number) => {
        if (isOver) return;
        const now = performance.now();
        if (now >= startsAt) measurement.answer(status, connection.intendedAt, now);
        if (now < endsAt) send(connection, now);
        else finish();
      },
      onLost: (connection: Connection) => {
        const now = performance.now();
        if (now >= startsAt && !isOver) measurement.lost(connection.intendedAt, now);
      },
    };
    const address = addressOf(spec.url);
    for (let i = 0; i < spec.connections; i++) {
      sources.set(new Connection(address, events), workload.source(spec.callers, run));
    }
    setTimeout(() => {
      if (measurement.isEmpty) setTimeout(finish, firstAnswerMs).unref();
      else finish();
    }, endsAt - performance.now());
  });
}
