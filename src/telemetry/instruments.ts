/**
 * The gateway's counters and histograms, cheap enough for the hot path. `metrics` reads them at each scrape.
 * Live as long as the process.
 */
import { errors, type ErrorCode } from '../errors.js';
import { streamEnds, type StreamEnd } from '../events/event-streams.js';
import { Counter, CounterSet, CounterTable, Histogram, latencyBounds } from '../lib/instruments.js';
import {
  connectionEnds,
  upgradeRefusals,
  type ConnectionEnd,
  type UpgradeRefusal,
} from '../plugins/protocol.js';
import { executionStates, type ExecutionStatus } from '../model/execution.js';
import { reasonCodes, type ReasonCode } from '../model/reason-codes.js';

export interface Instruments {
  /** Answered requests by operation and status; status 0 means that the client disconnected. */
  readonly requests: RequestCounts;
  /** Seconds from a request's head until its response is written, its stream opened or its client gone, by operation. */
  readonly requestLatency: readonly Histogram[];
  /** Counts one request. @param routeIndex its index in the route table; -1 for no route. */
  readonly requestEnded: (routeIndex: number, status: number, seconds: number) => void;
  /** Seconds from a signal's body, once it has arrived, to its 202. */
  readonly acceptLatency: Histogram;
  /** Seconds from the first write of a commit until its flush. */
  readonly commitLatency: Histogram;
  /** Seconds of a write of the log. */
  readonly flushLatency: Histogram;
  /** Seconds from acceptance to the frame written to a plugin's socket. */
  readonly dispatchLatency: Histogram;
  /** Seconds from dispatch to the plugin's first report. */
  readonly confirmLatency: Histogram;
  /** Refused requests by the code of the error. */
  readonly refusals: CounterSet<ErrorCode>;
  readonly connectionsRefused: Counter;
  readonly signalsAccepted: Counter;
  readonly framesRejected: Counter;
  readonly reportsIgnored: Counter;
  readonly fillsDuplicate: Counter;
  readonly framesRepeated: Counter;
  readonly submitsSent: Counter;
  readonly eventsPublished: Counter;
  readonly commitsFailed: Counter;
  readonly indexFillsFailed: Counter;
  /** Unexpected errors, which reached the outermost catch. */
  readonly internalErrors: Counter;
  /** Status changes of executions, by new status. */
  readonly executionsByStatus: CounterSet<ExecutionStatus>;
  /** Status changes of orders by platform, which is one of the settings, and new status. */
  readonly ordersByPlatform: CounterTable<ExecutionStatus>;
  /** Executions that were denied, by reason. */
  readonly deniedByReason: CounterSet<ReasonCode>;
  /** Refused upgrades of plugins, by reason. */
  readonly upgradesRefused: CounterSet<UpgradeRefusal>;
  readonly connectionsClosed: CounterSet<ConnectionEnd>;
  readonly streamsClosed: CounterSet<StreamEnd>;
}

const statuses = Object.keys(executionStates) as ExecutionStatus[];
/** One counter per three-digit status code. */
const statusSlots = 1_000;
/** Label of requests that match no route. */
const noOperation = 'none';

class RequestCounts {
  readonly operations: readonly string[];
  readonly #counts: Float64Array;

  constructor(operations: readonly string[]) {
    this.operations = [...operations, noOperation];
    this.#counts = new Float64Array(this.operations.length * statusSlots);
  }

  /** @returns the index in `operations`, also for -1. */
  indexOf(routeIndex: number): number {
    return routeIndex < 0 ? this.operations.length - 1 : routeIndex;
  }

  count(routeIndex: number, status: number): void {
    const slot = this.indexOf(routeIndex) * statusSlots + status;
    this.#counts[slot] = (this.#counts[slot] as number) + 1;
  }

  /** Visits each pair with a count above 0. */
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
    flushLatency: new Histogram(latencyBounds),
    dispatchLatency: new Histogram(latencyBounds),
    confirmLatency: new Histogram(latencyBounds),
    refusals: new CounterSet(Object.keys(errors) as ErrorCode[]),
    connectionsRefused: new Counter(),
    signalsAccepted: new Counter(),
    framesRejected: new Counter(),
    reportsIgnored: new Counter(),
    fillsDuplicate: new Counter(),
    framesRepeated: new Counter(),
    submitsSent: new Counter(),
    eventsPublished: new Counter(),
    commitsFailed: new Counter(),
    indexFillsFailed: new Counter(),
    internalErrors: new Counter(),
    executionsByStatus: new CounterSet(statuses),
    ordersByPlatform: new CounterTable(statuses),
    deniedByReason: new CounterSet(reasonCodes),
    upgradesRefused: new CounterSet(Object.keys(upgradeRefusals) as UpgradeRefusal[]),
    connectionsClosed: new CounterSet(connectionEnds),
    streamsClosed: new CounterSet(streamEnds),
  };
}
