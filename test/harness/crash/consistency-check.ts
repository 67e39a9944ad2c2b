/**
 * Reads what was accepted and compares it with the ledger and with what the terminals received and
 * reported.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ExecutionRecord } from './execution-record.js';
import type { StreamReaders } from './stream-readers.js';
import { isAtItsEnd, judge, type Phase } from './consistency-rules.js';
import type { ExecutionView, RequestView } from './request-history.js';
import type { AcceptedRequest, Ledger } from './ledger.js';
import type { Observation, TerminalIdentity } from './observation.js';
import { definitiveEnds } from '../../model/contract-states.js';
import { executionMayBecome } from './reachable-states.js';
import { DeliveryCheck } from './delivery-check.js';
import type { Trader } from './trader.js';

const readsAtOnce = 8;
/** An unknown execution is not sent again after its TTL, so that no report will follow. */
const spentAfterMs = 2_000;

export class ConsistencyCheck {
  /** Executions that a stop denied, in the end. */
  denied = 0;
  readonly #logs: ReadonlyMap<string, DeliveryCheck>;

  constructor(
    readonly ledger: Ledger,
    readonly traders: ReadonlyMap<string, Trader>,
    /** email → its terminals. */
    readonly identities: ReadonlyMap<string, readonly TerminalIdentity[]>,
    readonly readers: StreamReaders,
  ) {
    const deps = {
      verdict: ledger.verdict,
      confirmedReadAt: (executionId: string) => ledger.confirmedReads.get(executionId),
    };
    const all = [...identities.values()].flat();
    this.#logs = new Map(all.map(({ id }) => [id, new DeliveryCheck(id, deps)]));
  }

  /** The latest submit relative to its TTL, in ms. */
  get latestMs(): number {
    return Math.max(...[...this.#logs.values()].map(({ latestMs }) => latestMs));
  }

  /** Terminal's id → seq of the newest event it sent. */
  get lastEventSeqs(): ReadonlyMap<string, number> {
    return new Map([...this.#logs].map(([id, { lastEventSeq }]) => [id, lastEventSeq]));
  }

  observe(observations: readonly Observation[]): void {
    for (const seen of observations) this.#logs.get(seen.terminal)?.read(seen);
  }

  /** Checks that only accepted signals have reached a terminal. Call it when no operation is open. */
  inspectDeliveries(): void {
    for (const record of [...this.#logs.values()].flatMap(({ fresh }) => fresh.splice(0))) {
      const request = this.ledger.requests.get(requestIdOf(record.executionId));
      this.#hold('only what was accepted reaches a terminal', request !== undefined, record);
      const { submit } = record;
      if (request === undefined || submit === undefined) continue;
      const { body, subject, expiresAt } = request.operation.name;
      const isWhole =
        submit.requestId === request.requestId &&
        submit.signalId === subject &&
        Date.parse(submit.expiresAt) === expiresAt &&
        isDeepStrictEqual(submit.payload, (JSON.parse(body) as { payload: unknown }).payload);
      this.#hold('a terminal gets what was accepted', isWhole, { submit, request });
    }
  }

  /** Reads every request that may have changed. @returns how many are not finished. */
  async inspectMoving(phase: Phase): Promise<number> {
    const { moving } = this.ledger;
    let unfinished = 0;
    await this.#readAll([...moving], (request, view) => {
      const records = this.#inspect(phase, request, view);
      const isFinished = view.executions.every((each, i) => isAtItsEnd(each, records[i]));
      if (!isFinished) unfinished++;
      const isSpent = Date.now() > request.operation.name.expiresAt + spentAfterMs;
      const isOver = view.executions.every(
        ({ status }) => definitiveEnds.includes(status) || (status === 'unknown' && isSpent),
      );
      if (phase === 'at rest' && isFinished && isOver) moving.delete(request);
    });
    return unfinished;
  }

  async inspectAll(): Promise<void> {
    await this.#readAll([...this.ledger.requests.values()], (request, view) => {
      this.#inspect('in the end', request, view);
      this.denied += view.executions.filter(
        ({ status, reasonCode }) => status === 'denied' && reasonCode !== 'no_active_terminal',
      ).length;
    });
  }

  async #readAll(
    requests: AcceptedRequest[],
    inspect: (request: AcceptedRequest, view: RequestView) => void,
  ): Promise<void> {
    const lane = async (): Promise<void> => {
      for (let next = requests.pop(); next !== undefined; next = requests.pop()) {
        const told = this.#toldOf(next);
        const view = await this.traders.get(next.user)?.read(next);
        this.#hold('a quiet gateway answers', view !== undefined, next);
        if (view === undefined) continue;
        for (const { executionId, status } of view.executions) {
          const before = told.get(executionId);
          const isInEffect = before === undefined || executionMayBecome(before, status);
          this.#hold('what a stream told is in effect', isInEffect, { before, view });
        }
        inspect(next, view);
      }
    };
    await Promise.all(Array.from({ length: readsAtOnce }, lane));
  }

  /** Last statuses of a request's known executions on the streams. */
  #toldOf({ user, history }: AcceptedRequest): ReadonlyMap<string, string | undefined> {
    const known = history.last?.executions ?? [];
    return new Map(
      known.map(({ executionId }) => [executionId, this.readers.toldOf(user, executionId)]),
    );
  }

  /** @returns the records of its executions. */
  #inspect(
    phase: Phase,
    request: AcceptedRequest,
    view: RequestView,
  ): (ExecutionRecord | undefined)[] {
    this.#inspectRoute(request, view);
    const { stops } = this.ledger.conditions;
    const { operation } = request;
    const acceptedAt = Date.parse(request.acceptedAt);
    const stoppedAt = stops.stoppedAt(operation, acceptedAt);
    return view.executions.map((execution) => {
      const { executionId } = execution;
      const terminal = this.#terminalOf(request, execution);
      const record = this.#logs.get(terminal ?? '')?.records.get(executionId);
      const cancelRequestId = this.ledger.lastCancelOf(executionId);
      const strangers = [...this.#logs].filter(
        ([id, log]) => id !== terminal && log.records.get(executionId)?.submit !== undefined,
      );
      this.#hold('an execution comes to its own terminal', strangers.length === 0, {
        execution,
        strangers: strangers.map(([id]) => id),
      });
      const { cancelAlls, switches } = this.ledger;
      const mayHaveFired = switches.mayCancel(operation, acceptedAt);
      const facts = {
        view: execution,
        record,
        cancelRequestId,
        stoppedAt,
        mayDeny: (reason: string) =>
          stops.mayDeny(reason, operation, acceptedAt) ||
          cancelAlls.mayEnd(reason, execution, operation, acceptedAt) ||
          (reason === 'cancel_after_expired' && mayHaveFired),
        isInCancelAll:
          cancelAlls.covers(execution, operation, acceptedAt) ||
          (execution.orderRef !== null && switches.hasCancelled(operation, acceptedAt)),
        isDenied: cancelAlls.denied.has(executionId),
        mayHaveNewerCancel: mayHaveFired || cancelAlls.mayHaveCancelled(execution, operation),
        isCancelWaiting: cancelAlls.waiting.has(execution.cancel?.cancelRequestId ?? ''),
      };
      for (const [rule, holds] of judge(phase, facts)) {
        this.#hold(rule, holds, { phase, request, ...facts });
      }
      return record;
    });
  }

  /** Each signal goes to every terminal that it names and to no other. */
  #inspectRoute(request: AcceptedRequest, view: RequestView): void {
    const { platform, instanceId } = JSON.parse(request.operation.name.body) as Partial<
      Record<string, string>
    >;
    const expected = (platform ?? '').split(', ').flatMap((token) => {
      const named = this.#identitiesOf(request).filter(
        (identity) =>
          identity.platform === token &&
          (instanceId === undefined || identity.instanceId === instanceId),
      );
      return named.length === 0 ? [`${token} denied`] : named.map(({ id }) => id);
    });
    const actual = view.executions.map((execution) =>
      execution.reasonCode === 'no_active_terminal'
        ? `${execution.platform} denied`
        : this.#terminalOf(request, execution),
    );
    const isRight = isDeepStrictEqual([...expected].sort(), [...actual].sort());
    this.#hold('a signal goes to every terminal that it names', isRight, { view, expected });
  }

  #terminalOf(request: AcceptedRequest, execution: ExecutionView): string | undefined {
    return this.#identitiesOf(request).find(
      ({ platform, instanceId, accountName }) =>
        platform === execution.platform &&
        instanceId === execution.instanceId &&
        accountName === execution.accountName,
    )?.id;
  }

  #identitiesOf({ user }: AcceptedRequest): readonly TerminalIdentity[] {
    return this.identities.get(user) ?? [];
  }

  #hold(rule: string, holds: boolean, evidence: unknown): void {
    this.ledger.verdict.hold(rule, holds, () => evidence);
  }
}

function requestIdOf(executionId: string): string {
  return executionId.replace(/^exe_(.*)_\d+$/, 'req_$1');
}
