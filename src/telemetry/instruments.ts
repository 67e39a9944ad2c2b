/**
 * What the gateway measures of itself: one object, made once, counted into with plain additions on the
 * hot path. `metrics` reads it when Prometheus asks. Lives as long as the process.
 */
import { streamEnds, type StreamEnd } from '../events/event-streams.js';
import { Counter, CounterSet, Histogram, latencyBounds } from '../lib/instruments.js';
import { connectionEnds, type ConnectionEnd } from '../plugins/protocol.js';
import { executionStates, type ExecutionStatus } from '../model/execution.js';

export interface Instruments {
  /** Requests ended: by operation and status, where status 0 means that the client left. */
  readonly requests: RequestCounts;
  /** Seconds from a request's head to the end of its answer, one histogram per operation. */
  readonly requestLatency: readonly Histogram[];
  /** Counts one request. `routeIndex` is its place in the route table; -1 stands for no route. */
  readonly requestEnded: (routeIndex: number, status: number, seconds: number) => void;
  /** Seconds from a signal's head to its 202. */
  readonly acceptLatency: Histogram;
  /** Seconds from a turn's first write until the flush. */
  readonly commitLatency: Histogram;
  /** Seconds from acceptance to the frame written to a plugin's socket. */
  readonly dispatchLatency: Histogram;
  /** Seconds from dispatch to the plugin's first report. */
  readonly confirmLatency: Histogram;
  readonly signalsAccepted: Counter;
  readonly framesRejected: Counter;
  readonly reportsIgnored: Counter;
  readonly fillsDuplicate: Counter;
  readonly submitsSent: Counter;
  readonly eventsPublished: Counter;
  readonly commitsFailed: Counter;
  /** Throws that reached the outermost catch. */
  readonly internalErrors: Counter;
  /** Executions that came into a status. */
  readonly executionsByStatus: CounterSet<ExecutionStatus>;
  readonly connectionsClosed: CounterSet<ConnectionEnd>;
  readonly streamsClosed: CounterSet<StreamEnd>;
}

/** One place for each status code of three digits. */
const statusSlots = 1_000;
/** Stands for requests that no route took. */
const noOperation = 'none';

export class RequestCounts {
  readonly operations: readonly string[];
  readonly #counts: Float64Array;

  constructor(operations: readonly string[]) {
    this.operations = [...operations, noOperation];
    this.#counts = new Float64Array(this.operations.length * statusSlots);
  }

  /** The operation's place in `operations`, also for -1. */
  indexOf(routeIndex: number): number {
    return routeIndex < 0 ? this.operations.length - 1 : routeIndex;
  }

  count(routeIndex: number, status: number): void {
    const slot = this.indexOf(routeIndex) * statusSlots + status;
    this.#counts[slot] = (this.#counts[slot] as number) + 1;
  }

  /** Calls back for each pair that was counted at least once. */
  forEach(visit: (operation: string, status: number, count: number) => void): void {
    this.#counts.forEach((count, slot) => {
      if (count === 0) return;
      visit(this.operations[Math.floor(slot / statusSlots)] as string, slot % statusSlots, count);
    });
  }
}

export function createInstruments(routes: readonly { readonly operation: string }[]): Instruments {
  const requests = new RequestCounts(routes.map(({ operation }) => operation));
  const requestLatency = requests.operations.map(() => new Histogram(latencyBounds));
  return {
    requests,
    requestLatency,
    requestEnded(routeIndex, status, seconds) {
      requests.count(routeIndex, status);
      (requestLatency[requests.indexOf(routeIndex)] as Histogram).observe(seconds);
    },
    acceptLatency: new Histogram(latencyBounds),
    commitLatency: new Histogram(latencyBounds),
    dispatchLatency: new Histogram(latencyBounds),
    confirmLatency: new Histogram(latencyBounds),
    signalsAccepted: new Counter(),
    framesRejected: new Counter(),
    reportsIgnored: new Counter(),
    fillsDuplicate: new Counter(),
    submitsSent: new Counter(),
    eventsPublished: new Counter(),
    commitsFailed: new Counter(),
    internalErrors: new Counter(),
    executionsByStatus: new CounterSet(Object.keys(executionStates) as ExecutionStatus[]),
    connectionsClosed: new CounterSet(connectionEnds),
    streamsClosed: new CounterSet(streamEnds),
  };
}
