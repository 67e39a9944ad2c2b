/**
 * The effects that the inputs may have, and those that the terminal and the store show. An effect is allowed
 * before its input is sent, and certain once its 202 came; any other effect is a violation. Lives as long as
 * the target.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Frame, Plugin } from '../../../support/plugin.js';
import type { Verdict } from '../../verdict.js';
import type { Input } from './input.js';
import type { Effect } from './request-model.js';
import type { MeantSignal } from './signal-model.js';

interface Allowed {
  readonly signal: MeantSignal;
  /** Name of the input that contains the signal. */
  readonly inputName: string;
  isCertain: boolean;
}

interface Count {
  certain: number;
  allowed: number;
  seen: number;
}

export class Ledger {
  readonly #signals = new Map<string, Allowed[]>();
  readonly #cancels = new Map<string, Count>();
  /** Allowed cancel-alls, each of which may cancel every order once. */
  #cancelAlls = 0;
  readonly #delivered = new Map<string, Frame>();
  readonly #revocable = new Set<number>();
  /** Inputs of this round, as evidence for an effect that none of them allows. */
  #played: Input[] = [];

  constructor(readonly verdict: Verdict) {}

  get executions(): number {
    return this.#delivered.size;
  }

  playing(input: Input): void {
    this.#played.push(input);
  }

  /** Allows an effect that the input has, or may have by a documented gap. */
  allow(effect: Effect, inputName: string): void {
    if (effect.kind === 'signal') {
      const { signal } = effect;
      const known = this.#signals.get(signal.signalId) ?? [];
      known.push({ signal, inputName, isCertain: false });
      this.#signals.set(signal.signalId, known);
    } else if (effect.kind === 'cancel') this.#cancelsOf(effect.orderRef).allowed++;
    else if (effect.kind === 'cancel-all') this.#cancelAlls++;
    else this.#revocable.add(effect.keyId);
  }

  /** Makes an effect certain, when its first 202 came. */
  confirm(effect: Effect): void {
    if (effect.kind === 'signal') {
      for (const each of this.#signals.get(effect.signal.signalId) ?? []) each.isCertain = true;
    } else if (effect.kind === 'cancel') this.#cancelsOf(effect.orderRef).certain++;
  }

  /** Whether several inputs have the same signalId: any may be refused as a duplicate. */
  isContested({ signal }: Effect & { kind: 'signal' }): boolean {
    return (this.#signals.get(signal.signalId)?.length ?? 0) > 1;
  }

  mayBeRevoked(keyId: number): boolean {
    return this.#revocable.has(keyId);
  }

  /**
   * Records the terminal's submits, and rejects its cancels, so that an order can be cancelled again.
   */
  follow(terminal: Plugin, firstSeq: number): void {
    let seq = firstSeq;
    terminal.socket.on('message', () => {
      for (const frame of terminal.frames.splice(0)) {
        if (frame.type === 'submit') this.#take(frame);
        if (frame.type !== 'cancel') continue;
        const { cancelRequestId } = frame;
        this.#cancelsOf(frame['orderRef']).seen++;
        terminal.send({ type: 'cancel_report', seq: seq++, cancelRequestId, status: 'rejected' });
      }
    });
  }

  hasDelivered(signalId: string): boolean {
    return this.#delivered.has(signalId);
  }

  /** Every certain effect has been seen. */
  get isComplete(): boolean {
    return this.#missing.length === 0 && [...this.#cancels.values()].every(isEnough);
  }

  /** Call it with no request pending. */
  settle(): void {
    const missing = this.#missing;
    this.verdict.hold('what was accepted is delivered', missing.length === 0, () =>
      missing.slice(0, 3),
    );
    for (const [orderRef, count] of this.#cancels) {
      const isMeant = isEnough(count) && count.seen <= count.allowed + this.#cancelAlls;
      this.verdict.hold('an order is cancelled as often as meant', isMeant, () => [
        orderRef,
        count,
        this.#played.filter(({ pieces }) => pieces.join('').includes(orderRef)),
      ]);
    }
    this.#played = [];
  }

  /** `signalIds`: those of the requests in the store. */
  holdStore(signalIds: readonly string[]): void {
    const stored = new Set(signalIds);
    this.verdict.hold('a signalId is stored once', stored.size === signalIds.length, () => [
      stored.size,
      signalIds.length,
    ]);
    for (const signalId of stored) {
      this.verdict.hold(
        'only what was meant is stored',
        this.#signals.has(signalId),
        () => signalId,
      );
    }
    for (const [signalId, meant] of this.#signals) {
      const isKept = !meant.some(({ isCertain }) => isCertain) || stored.has(signalId);
      this.verdict.hold('what was accepted is stored', isKept, () => meant);
    }
  }

  get #missing(): readonly Allowed[] {
    return [...this.#signals.values()]
      .flat()
      .filter(
        ({ isCertain, signal }) =>
          isCertain && signal.isDelivered === true && !this.#delivered.has(signal.signalId),
      );
  }

  #take(frame: Frame): void {
    const signalId = frame['signalId'] as string;
    const meant = this.#signals.get(signalId) ?? [];
    const isMeant = meant.some(
      ({ signal }) =>
        signal.isDelivered !== false && isDeepStrictEqual(signal.payload, frame['payload']),
    );
    this.verdict.hold('only what was meant is executed', isMeant, () => [
      this.#played.filter(({ pieces }) => pieces.join('').includes(signalId)),
      frame,
      meant.map(({ inputName, signal }) => [inputName, signal]),
    ]);
    const isFirst = !this.#delivered.has(signalId);
    this.verdict.hold('nothing is executed twice', isFirst, () => frame);
    this.#delivered.set(signalId, frame);
  }

  #cancelsOf(orderRef: string): Count {
    let count = this.#cancels.get(orderRef);
    if (count === undefined) {
      count = { certain: 0, allowed: 0, seen: 0 };
      this.#cancels.set(orderRef, count);
    }
    return count;
  }
}

function isEnough({ seen, certain }: Count): boolean {
  return seen >= certain;
}
