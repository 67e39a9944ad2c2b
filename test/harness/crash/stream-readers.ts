/** All readers of event streams, and the events that each user's readers have received. */
import type { Chance } from '../chance.js';
import type { Verdict } from '../verdict.js';
import { ResumingReader } from './resuming-reader.js';
import type { TerminalIdentity } from './observation.js';
import type { Conditions } from './refusals.js';
import type { StatusChange } from './status-snapshot.js';
import { StreamLog } from './stream-log.js';
import type { Trader } from './trader.js';

const withinMs = 20_000;

export interface StreamReadersDeps {
  readonly verdict: Verdict;
  readonly chance: Chance;
  readonly conditions: Conditions;
  readonly gateway: { readonly isAlive: boolean };
  readonly traders: ReadonlyMap<string, Trader>;
  /** email → its terminals: each has one reader. */
  readonly identities: ReadonlyMap<string, readonly TerminalIdentity[]>;
}

export class StreamReaders {
  readonly #logs = new Map<string, StreamLog>();
  readonly #readers: { readonly user: string; readonly reader: ResumingReader }[] = [];
  readonly #verdict: Verdict;

  constructor({ verdict, chance, traders, identities, ...deps }: StreamReadersDeps) {
    this.#verdict = verdict;
    for (const [user, ofUser] of identities) {
      const log = new StreamLog(verdict, ofUser.length);
      const key = traders.get(user)?.key ?? '';
      this.#logs.set(user, log);
      for (const identity of ofUser) {
        const ofReader = { identity, key, log, chance: chance.child(`reader ${identity.id}`) };
        this.#readers.push({ user, reader: new ResumingReader({ ...deps, ...ofReader }) });
      }
    }
  }

  get events(): number {
    return [...this.#logs.values()].reduce((sum, { events }) => sum + events, 0);
  }

  get readings(): number {
    return [...this.#logs.values()].reduce((sum, { readings }) => sum + readings, 0);
  }

  /** Connects every reader to this gateway process. */
  async connectTo(url: string, startNumber: number): Promise<void> {
    for (const log of this.#logs.values()) log.beginStart(startNumber);
    for (const { reader } of this.#readers) reader.connectTo(url, startNumber);
    await this.#wait('every reader comes back', ({ reader }) => reader.isReading);
  }

  startLoad(): void {
    for (const { reader } of this.#readers) reader.cutsConnections = true;
  }

  /** `lastEventSeqs`: terminal's id → seq of its last event, which is acknowledged. */
  async waitUntilIdle(lastEventSeqs: ReadonlyMap<string, number>): Promise<void> {
    for (const { reader } of this.#readers) reader.cutsConnections = false;
    await this.#wait(
      'a terminal’s last word comes to its readers',
      ({ user, reader: { identity } }) =>
        this.#logOf(user).lastBalanceOf(identity) === lastEventSeqs.get(identity.id),
    );
    for (const log of this.#logs.values()) log.inspectWhole();
  }

  /** Last status of an execution that a stream carried; undefined when none did. */
  toldOf(user: string, executionId: string): string | undefined {
    return this.#logs.get(user)?.told.get(executionId);
  }

  /** Waits until each of these changes has come on a stream of this gateway process. */
  async inspectTold(changes: readonly StatusChange[]): Promise<void> {
    const end = performance.now() + withinMs;
    for (const { user, executionId, status } of changes) {
      const isTold = (): boolean => this.#logOf(user).wasTold(executionId, status);
      while (!isTold() && performance.now() < end) {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      this.#verdict.hold('every change is told', isTold(), () => ({ user, executionId, status }));
    }
  }

  #logOf(user: string): StreamLog {
    return this.#logs.get(user) as StreamLog;
  }

  async #wait(
    rule: string,
    isSo: (each: { readonly user: string; readonly reader: ResumingReader }) => boolean,
  ): Promise<void> {
    const end = performance.now() + withinMs;
    const missing = () => this.#readers.filter((each) => !isSo(each));
    while (missing().length > 0 && performance.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    this.#verdict.hold(rule, missing().length === 0, () =>
      missing().map(({ user, reader }) => [user, reader.identity.id, reader.isReading]),
    );
  }
}
