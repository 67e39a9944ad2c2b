/** Each connection sends its next request when it has the last one's answer: what a server can do. */
import { Connection } from './connection.js';
import type { LoadReportJson, LoadSpec } from './load.js';
import { Measurement } from './measurement.js';
import { type RequestSource, workloads } from './workloads.js';

export function runClosedLoop(spec: LoadSpec, run: string): Promise<LoadReportJson> {
  const workload = workloads[spec.workload];
  const startsAt = performance.now() + spec.warmupSeconds * 1000;
  const endsAt = startsAt + spec.seconds * 1000;
  const measurement = new Measurement(startsAt, workload.expected);
  const sources = new Map<Connection, RequestSource>();
  let sequence = 0;
  let isOver = false;
  setTimeout(() => measurement.begin(), spec.warmupSeconds * 1000);

  return new Promise((resolve) => {
    const send = (connection: Connection, now: number): void => {
      const source = sources.get(connection) as RequestSource;
      connection.send(source.next(sequence), sequence++, now);
    };
    const events = {
      onOpen: (connection: Connection) => {
        if (!isOver) send(connection, performance.now());
      },
      onAnswer: (connection: Connection, status: number) => {
        const now = performance.now();
        if (now < endsAt) {
          if (now >= startsAt) measurement.answer(status, connection.intendedAt, now);
          send(connection, now);
        }
      },
      onLost: (connection: Connection) => {
        const now = performance.now();
        if (now >= startsAt && now < endsAt) measurement.lost(connection.intendedAt, now);
      },
    };
    const url = new URL(spec.url);
    for (let i = 0; i < spec.connections; i++) {
      sources.set(new Connection(url, events), workload.source(spec.callers, run));
    }
    setTimeout(() => {
      isOver = true;
      resolve(measurement.report(spec.seconds));
    }, endsAt - performance.now());
  });
}
