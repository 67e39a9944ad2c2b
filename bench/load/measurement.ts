/** What a generator counts during the measured time, and the report that it makes of it. */
import { loopSeconds } from '../measure/processor-time.js';
import { LatencyHistogram } from '../measure/statistics.js';
import type { Grant } from './grants.js';
import type { LoadReportJson } from './load.js';

export class Measurement {
  readonly latency = new LatencyHistogram();
  readonly lateness = new LatencyHistogram();
  readonly #byStatus = new Float64Array(1000);
  readonly #expected: readonly number[];
  #answers = 0;
  #unanswered = 0;
  #lastAnswerAt: number;
  #cpu = process.cpuUsage();
  readonly #serverPid: number | undefined;
  #serverLoopSeconds = 0;
  readonly #grants: Grant[][] | undefined;

  /**
   * @param startedAt of the measured time, on the monotonic clock.
   * @param grantsOf how many callers' grants are listed, if any are.
   */
  constructor(
    readonly startedAt: number,
    expected: readonly number[],
    serverPid: number | undefined,
    grantsOf?: number,
  ) {
    this.#expected = expected;
    this.#serverPid = serverPid;
    this.#lastAnswerAt = startedAt;
    if (grantsOf !== undefined) this.#grants = Array.from({ length: grantsOf }, () => []);
  }

  get isEmpty(): boolean {
    return this.#answers + this.#unanswered === 0;
  }

  /** The measured time begins now: what was done before is not the measurement's. */
  begin(): void {
    this.#cpu = process.cpuUsage();
    if (this.#serverPid !== undefined) this.#serverLoopSeconds = loopSeconds(this.#serverPid);
  }

  answer(status: number, intendedAt: number, now: number): void {
    this.#answers++;
    this.#byStatus[status] = (this.#byStatus[status] as number) + 1;
    this.latency.record(now - intendedAt);
    this.#lastAnswerAt = now;
  }

  /** An answer of a caller whose grants are listed. */
  grant(caller: number, status: number, intendedAt: number, now: number): void {
    if (!this.#expected.includes(status)) return;
    this.#grants?.[caller]?.push([intendedAt - this.startedAt, now - this.startedAt]);
  }

  /** Counts a lost request with its waiting time, so that a server does not gain by not answering. */
  lost(intendedAt: number, now: number): void {
    this.#unanswered++;
    this.latency.record(now - intendedAt);
    this.#lastAnswerAt = now;
  }

  /** @param plannedSeconds the measured time, at the least. */
  report(plannedSeconds: number): LoadReportJson {
    const seconds = Math.max(plannedSeconds, (this.#lastAnswerAt - this.startedAt) / 1000);
    const { user, system } = process.cpuUsage(this.#cpu);
    const byStatus: Record<string, number> = {};
    this.#byStatus.forEach((count, status) => {
      if (count > 0) byStatus[status] = count;
    });
    const expected = this.#expected.reduce((sum, status) => sum + (byStatus[status] ?? 0), 0);
    return {
      answers: this.#answers,
      answersPerSecond: this.#answers / seconds,
      byStatus,
      unexpected: this.#answers - expected,
      unanswered: this.#unanswered,
      latency: this.latency.toJSON(),
      lateness: this.lateness.toJSON(),
      seconds,
      busyShare: (user + system) / 1e6 / seconds,
      ...(this.#serverPid === undefined
        ? {}
        : { serverLoopSeconds: loopSeconds(this.#serverPid) - this.#serverLoopSeconds }),
      ...(this.#grants === undefined ? {} : { grants: this.#grants }),
    };
  }
}
