/**
 * The events that the readers of one user have received over all restarts of the gateway, and the
 * rules for them: within one gateway process every event of every source, once and in order; after a
 * restart one `replay_gap`; and no status that is not in effect afterwards.
 */
import type { ReadEvent } from '../../support/event-reader.js';
import type { Verdict } from '../verdict.js';
import type { TerminalIdentity } from './observation.js';
import { cancelMayBecome, executionMayBecome } from './reachable-states.js';

/** One connection of a reader. */
export interface Reading {
  readonly identity: TerminalIdentity;
  readonly startNumber: number;
  /** The gateway process of the event it resumed after; undefined without a cursor. */
  readonly cursorStart: number | undefined;
  /** Events received on it. */
  count: number;
}

/** The events of one source since this start of the gateway. */
interface Track {
  /** Every event of the source after it must be received. */
  start: number;
  last: number;
  lastBalance: number;
}

export class StreamLog {
  /** executionId → its last status on a stream of any gateway process. */
  readonly told = new Map<string, string>();
  events = 0;
  /** Connections with at least one event. */
  readings = 0;
  /** executionId → all its statuses on streams of this gateway process. */
  #toldNow = new Map<string, Set<string>>();
  readonly #cancels = new Map<string, string>();
  readonly #startOfEpoch = new Map<string, number>();
  #startNumber = 0;
  #tracks = new Map<string, Track>();
  #seen = new Set<number>();

  constructor(
    readonly verdict: Verdict,
    readonly sourceCount: number,
  ) {}

  beginStart(startNumber: number): void {
    this.inspectWhole();
    this.#startNumber = startNumber;
    this.#tracks = new Map();
    this.#seen = new Set();
    this.#toldNow = new Map();
  }

  /** `balance` of the last account_update that the terminal's reader has received. */
  lastBalanceOf({ id }: TerminalIdentity): number {
    return this.#tracks.get(id)?.lastBalance ?? 0;
  }

  wasTold(executionId: string, status: string): boolean {
    return this.#toldNow.get(executionId)?.has(status) === true;
  }

  /** Event numbers are per user: a number that all readers have passed and none has received is lost. */
  inspectWhole(): void {
    const tracks = [...this.#tracks.values()];
    if (tracks.length < this.sourceCount) return;
    const first = Math.max(...tracks.map(({ start }) => start)) + 1;
    const last = Math.min(...tracks.map((track) => track.last));
    const lost: number[] = [];
    for (let seq = first; seq <= last; seq++) if (!this.#seen.has(seq)) lost.push(seq);
    this.#hold('no event of a gateway process is lost', lost.length === 0, {
      start: this.#startNumber,
      lost,
      tracks,
    });
  }

  take(reading: Reading, event: ReadEvent): void {
    const [, epoch = '', number = ''] = /^([0-9a-f]+)-(\d+)$/.exec(event.id) ?? [];
    const seq = Number(number);
    const isFirst = reading.count++ === 0;
    this.events++;
    if (isFirst) this.readings++;
    const evidence = { reading, event };
    this.#hold('an event has an id', epoch !== '', evidence);
    this.#hold(
      'a gateway process has one epoch',
      this.#isOfStart(epoch, reading.startNumber),
      evidence,
    );
    const isGap = event.name === 'replay_gap';
    const mustBeGap =
      isFirst && reading.cursorStart !== undefined && reading.cursorStart !== reading.startNumber;
    this.#hold('a restart is told as a gap, and nothing else is', isGap === mustBeGap, evidence);
    // The rest of a connection to an earlier process is not judged.
    if (reading.startNumber !== this.#startNumber) return;
    if (isGap) {
      const isRight = event.data.reason === 'cursor_not_available';
      this.#hold('a gap says why', isRight, evidence);
      this.#tracks.set(reading.identity.id, { start: seq, last: seq, lastBalance: 0 });
      return;
    }
    this.#takeNumbered(reading.identity, seq, event);
  }

  #takeNumbered(identity: TerminalIdentity, seq: number, { id, name, data }: ReadEvent): void {
    const track = this.#tracks.get(identity.id) ?? {
      start: seq - 1,
      last: seq - 1,
      lastBalance: 0,
    };
    this.#tracks.set(identity.id, track);
    const evidence = { identity: identity.id, track: { ...track }, id, name, data };
    this.#hold('events come in order, each once', seq > track.last, evidence);
    this.#hold('an event belongs to one source', !this.#seen.has(seq), evidence);
    const isIts =
      data.eventId === id &&
      data.platform === identity.platform &&
      data.instanceId === identity.instanceId &&
      data.accountName === identity.accountName;
    this.#hold('an event is of the source that was asked for', isIts, evidence);
    track.last = Math.max(track.last, seq);
    this.#seen.add(seq);
    if (name === 'account_update') {
      const { balance } = data.data as { balance: number };
      this.#hold('a terminal’s word is told once', balance > track.lastBalance, evidence);
      track.lastBalance = balance;
    } else if (name === 'command_result') {
      this.#takeResult(data.data as { executionId: string; status: string }, evidence);
    } else if (name === 'cancel_update') {
      const { cancelRequestId, status } = data.data as { cancelRequestId: string; status: string };
      const before = this.#cancels.get(cancelRequestId);
      const isMove = before === undefined || cancelMayBecome(before, status);
      this.#hold('a stream tells moves that the table allows', isMove, { before, ...evidence });
      this.#cancels.set(cancelRequestId, status);
    }
  }

  #takeResult({ executionId, status }: { executionId: string; status: string }, evidence: object) {
    const before = this.told.get(executionId);
    const now = this.#toldNow.get(executionId) ?? new Set<string>();
    const isMove = before === undefined || executionMayBecome(before, status);
    this.#hold('a stream tells moves that the table allows', isMove, { before, ...evidence });
    this.#hold('a status is told once', !now.has(status), { before, ...evidence });
    this.told.set(executionId, status);
    this.#toldNow.set(executionId, now.add(status));
  }

  #isOfStart(epoch: string, startNumber: number): boolean {
    const known = this.#startOfEpoch.get(epoch);
    if (known !== undefined) return known === startNumber;
    const isNew = ![...this.#startOfEpoch.values()].includes(startNumber);
    this.#startOfEpoch.set(epoch, startNumber);
    return isNew;
  }

  #hold(rule: string, holds: boolean, evidence: unknown): void {
    this.verdict.hold(rule, holds, () => evidence);
  }
}
