/**
 * What the readers of one user's event streams were told, over all lives of the gateway, and the
 * rules that it keeps: within a life every event of every source, once and in order; over a restart
 * one gap that says so; and no word that is not in effect afterwards.
 */
import type { ReadEvent } from '../../support/event-reader.js';
import type { Verdict } from '../verdict.js';
import type { TerminalPlace } from './observation.js';
import { cancelMayBecome, executionMayBecome } from './state-tables.js';

/** One connection of a reader. */
export interface Reading {
  readonly place: TerminalPlace;
  readonly life: number;
  /** Life of the event whose id it resumed after; undefined without a cursor. */
  readonly cursorLife: number | undefined;
  /** Events that came on it. */
  count: number;
}

/** Of one source in this life. */
interface Track {
  /** Everything of the source after it must come. */
  start: number;
  last: number;
  lastBalance: number;
}

export class StreamLog {
  /** executionId → its last status that was told, in any life. */
  readonly told = new Map<string, string>();
  events = 0;
  /** Connections that brought any. */
  readings = 0;
  /** executionId → all statuses told in this life. */
  #toldNow = new Map<string, Set<string>>();
  readonly #cancels = new Map<string, string>();
  readonly #lifeOf = new Map<string, number>();
  #life = 0;
  #tracks = new Map<string, Track>();
  #seen = new Set<number>();

  constructor(
    readonly verdict: Verdict,
    readonly sourceCount: number,
  ) {}

  beginLife(life: number): void {
    this.inspectWhole();
    this.#life = life;
    this.#tracks = new Map();
    this.#seen = new Set();
    this.#toldNow = new Map();
  }

  /** Number of the last word that a terminal's reader has seen of its terminal's own. */
  lastBalanceOf({ id }: TerminalPlace): number {
    return this.#tracks.get(id)?.lastBalance ?? 0;
  }

  wasTold(executionId: string, status: string): boolean {
    return this.#toldNow.get(executionId)?.has(status) === true;
  }

  /** Events are numbered by the user: what no reader has, and all have passed, is lost. */
  inspectWhole(): void {
    const tracks = [...this.#tracks.values()];
    if (tracks.length < this.sourceCount) return;
    const first = Math.max(...tracks.map(({ start }) => start)) + 1;
    const last = Math.min(...tracks.map((track) => track.last));
    const lost: number[] = [];
    for (let seq = first; seq <= last; seq++) if (!this.#seen.has(seq)) lost.push(seq);
    this.#hold('no event of a life is lost', lost.length === 0, { life: this.#life, lost, tracks });
  }

  take(reading: Reading, event: ReadEvent): void {
    const [, epoch = '', number = ''] = /^([0-9a-f]+)-(\d+)$/.exec(event.id) ?? [];
    const seq = Number(number);
    const isFirst = reading.count++ === 0;
    this.events++;
    if (isFirst) this.readings++;
    const evidence = { reading, event };
    this.#hold('an event has an id', epoch !== '', evidence);
    this.#hold('a life has one epoch', this.#isOfLife(epoch, reading.life), evidence);
    const isGap = event.name === 'replay_gap';
    const mustBeGap =
      isFirst && reading.cursorLife !== undefined && reading.cursorLife !== reading.life;
    this.#hold('a restart is told as a gap, and nothing else is', isGap === mustBeGap, evidence);
    // What a cut line still held is of no life any more.
    if (reading.life !== this.#life) return;
    if (isGap) {
      const isRight = event.data.reason === 'cursor_not_available';
      this.#hold('a gap says why', isRight, evidence);
      this.#tracks.set(reading.place.id, { start: seq, last: seq, lastBalance: 0 });
      return;
    }
    this.#takeNumbered(reading.place, seq, event);
  }

  #takeNumbered(place: TerminalPlace, seq: number, { id, name, data }: ReadEvent): void {
    const track = this.#tracks.get(place.id) ?? { start: seq - 1, last: seq - 1, lastBalance: 0 };
    this.#tracks.set(place.id, track);
    const evidence = { place: place.id, track: { ...track }, id, name, data };
    this.#hold('events come in order, each once', seq > track.last, evidence);
    this.#hold('an event belongs to one source', !this.#seen.has(seq), evidence);
    const isIts =
      data.eventId === id &&
      data.platform === place.platform &&
      data.instanceId === place.instanceId &&
      data.accountName === place.accountName;
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

  #isOfLife(epoch: string, life: number): boolean {
    const known = this.#lifeOf.get(epoch);
    if (known !== undefined) return known === life;
    const isNew = ![...this.#lifeOf.values()].includes(life);
    this.#lifeOf.set(epoch, life);
    return isNew;
  }

  #hold(rule: string, holds: boolean, evidence: unknown): void {
    this.verdict.hold(rule, holds, () => evidence);
  }
}
