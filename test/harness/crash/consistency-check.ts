/**
 * Goes through what was accepted and holds the gateway's words against the ledger and against what
 * the terminals saw and said.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Account } from './execution-record.js';
import type { Audience } from './stream-readers.js';
import { isAtItsEnd, judge, type Moment } from './consistency-rules.js';
import type { ExecutionView, RequestView } from './request-history.js';
import type { AcceptedRequest, Ledger } from './ledger.js';
import type { Observation, TerminalPlace } from './observation.js';
import { definitiveEnds, executionMayBecome } from './state-tables.js';
import { TerminalLog } from './delivery-check.js';
import type { Trader } from './trader.js';

const readsAtOnce = 8;
/** After its TTL an unknown execution is not sent again, so that nothing will be heard of it. */
const spentAfterMs = 2_000;

export class Inspector {
  readonly #logs: ReadonlyMap<string, TerminalLog>;

  constructor(
    readonly ledger: Ledger,
    readonly traders: ReadonlyMap<string, Trader>,
    /** email → its terminals. */
    readonly places: ReadonlyMap<string, readonly TerminalPlace[]>,
    readonly audience: Audience,
  ) {
    const deps = {
      verdict: ledger.verdict,
      confirmedReadAt: (executionId: string) => ledger.confirmedReads.get(executionId),
    };
    const all = [...places.values()].flat();
    this.#logs = new Map(all.map(({ id }) => [id, new TerminalLog(id, deps)]));
  }

  /** How long after its end a submit came at the latest. */
  get latestMs(): number {
    return Math.max(...[...this.#logs.values()].map(({ latestMs }) => latestMs));
  }

  /** Terminal's id → number of the newest event that it said. */
  get lastWords(): ReadonlyMap<string, number> {
    return new Map([...this.#logs].map(([id, { lastEventSeq }]) => [id, lastEventSeq]));
  }

  observe(observations: readonly Observation[]): void {
    for (const seen of observations) this.#logs.get(seen.terminal)?.read(seen);
  }

  /** Only what was accepted may have reached a terminal. Every operation must be settled. */
  inspectDeliveries(): void {
    for (const account of [...this.#logs.values()].flatMap(({ fresh }) => fresh.splice(0))) {
      const request = this.ledger.requests.get(requestIdOf(account.executionId));
      this.#hold('only what was accepted reaches a terminal', request !== undefined, account);
      const { submit } = account;
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

  /** Reads all that may have changed. @returns how many have not come to their end. */
  async inspectMoving(moment: Moment): Promise<number> {
    const { moving } = this.ledger;
    let unfinished = 0;
    await this.#readAll([...moving], (request, view) => {
      const accounts = this.#inspect(moment, request, view);
      const isFinished = view.executions.every((each, i) => isAtItsEnd(each, accounts[i]));
      if (!isFinished) unfinished++;
      const isSpent = Date.now() > request.operation.name.expiresAt + spentAfterMs;
      const isOver = view.executions.every(
        ({ status }) => definitiveEnds.includes(status) || (status === 'unknown' && isSpent),
      );
      if (moment === 'at rest' && isFinished && isOver) moving.delete(request);
    });
    return unfinished;
  }

  async inspectAll(): Promise<void> {
    await this.#readAll([...this.ledger.requests.values()], (request, view) => {
      this.#inspect('in the end', request, view);
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

  /** What streams have told of a request's executions, as far as those are known. */
  #toldOf({ user, history }: AcceptedRequest): ReadonlyMap<string, string | undefined> {
    const known = history.last?.executions ?? [];
    return new Map(
      known.map(({ executionId }) => [executionId, this.audience.toldOf(user, executionId)]),
    );
  }

  /** @returns the accounts of its executions. */
  #inspect(moment: Moment, request: AcceptedRequest, view: RequestView): (Account | undefined)[] {
    this.#inspectRoute(request, view);
    return view.executions.map((execution) => {
      const { executionId } = execution;
      const terminal = this.#terminalOf(request, execution);
      const account = this.#logs.get(terminal ?? '')?.accounts.get(executionId);
      const cancelRequestId = this.ledger.lastCancelOf(executionId);
      const strangers = [...this.#logs].filter(
        ([id, log]) => id !== terminal && log.accounts.get(executionId)?.submit !== undefined,
      );
      this.#hold('an execution comes to its own terminal', strangers.length === 0, {
        execution,
        strangers: strangers.map(([id]) => id),
      });
      for (const [rule, holds] of judge(moment, execution, account, cancelRequestId)) {
        this.#hold(rule, holds, { moment, execution, account, cancelRequestId });
      }
      return account;
    });
  }

  /** Each signal goes to every terminal that it names and to no other. */
  #inspectRoute(request: AcceptedRequest, view: RequestView): void {
    const { platform, instanceId } = JSON.parse(request.operation.name.body) as Partial<
      Record<string, string>
    >;
    const expected = (platform ?? '').split(', ').flatMap((token) => {
      const named = this.#placesOf(request).filter(
        (place) =>
          place.platform === token && (instanceId === undefined || place.instanceId === instanceId),
      );
      return named.length === 0 ? [`${token} denied`] : named.map(({ id }) => id);
    });
    const actual = view.executions.map((execution) =>
      execution.status === 'denied'
        ? `${execution.platform} denied`
        : this.#terminalOf(request, execution),
    );
    const isRight = isDeepStrictEqual([...expected].sort(), [...actual].sort());
    this.#hold('a signal goes to every terminal that it names', isRight, { view, expected });
  }

  #terminalOf(request: AcceptedRequest, execution: ExecutionView): string | undefined {
    return this.#placesOf(request).find(
      ({ platform, instanceId, accountName }) =>
        platform === execution.platform &&
        instanceId === execution.instanceId &&
        accountName === execution.accountName,
    )?.id;
  }

  #placesOf({ user }: AcceptedRequest): readonly TerminalPlace[] {
    return this.places.get(user) ?? [];
  }

  #hold(rule: string, holds: boolean, evidence: unknown): void {
    this.ledger.verdict.hold(rule, holds, () => evidence);
  }
}

function requestIdOf(executionId: string): string {
  return executionId.replace(/^exe_(.*)_\d+$/, 'req_$1');
}
