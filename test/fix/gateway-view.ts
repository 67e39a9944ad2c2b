/**
 * The gateway, as far as a terminal sees it: the real moves on orders and cancels, numbers of reports, redelivery
 * and timeouts, without a store, connections and users. Owns the executions.
 */
import { limits } from '../../src/limits.js';
import { isCancellable, type Execution } from '../../src/model/execution.js';
import { isFinalCancel } from '../../src/model/cancellation.js';
import { toExecutionReport, toNative } from '../../src/plugins/evidence.js';
import {
  type NumberedFrame,
  type CancelFrame,
  type Evidence,
  nativeLengthMax,
  type SubmitFrame,
} from '../../src/plugins/protocol.js';
import * as cancelMoves from '../../src/signals/cancel-moves.js';
import type { Move } from '../../src/signals/move.js';
import * as moves from '../../src/signals/moves.js';
import { anExecution } from '../signals/an-execution.js';
import { limitOrder, submitFrame } from './memory-desk.js';
import type { Surroundings } from './surroundings.js';

export type Command = SubmitFrame | CancelFrame;

const fillRoom = { listed: 10_000, ids: 64 };

export class GatewayView {
  readonly executions = new Map<string, Execution>();
  readonly #world: Surroundings;
  /** Commands that are not acknowledged, by executionId or cancelRequestId. */
  readonly #open = new Map<string, Command>();
  /** ExecutionIds by cancelRequestId. */
  readonly #cancelled = new Map<string, string>();
  /** The highest seq of the reports that came. */
  lastSeq = 0;
  /** Takes commands; undefined while none is connected. */
  terminal: { receive(command: Command): void } | undefined;

  constructor(world: Surroundings) {
    this.#world = world;
  }

  /** A bot submits an order. */
  submit(): void {
    const { chance, clock } = this.#world;
    if (this.terminal === undefined) return;
    const now = clock.now();
    const executionId = `exe_01KGA2M5${String(this.executions.size).padStart(18, '0')}_0`;
    const quantity = chance.pick([1, 50, 100]);
    const timeInForce = chance.pick(['day', 'day', 'gtc', 'ioc']);
    const submit = submitFrame(executionId, { ...limitOrder, quantity, timeInForce }, now);
    const times = { createdAt: now, updatedAt: now, expiresAt: Date.parse(submit.expiresAt) };
    const order = { executionId, quantity, remainingQuantity: quantity, maySend: true, ...times };
    this.executions.set(executionId, anExecution('queued', order));
    this.#move(executionId, moves.dispatch);
    this.#send(executionId, submit);
  }

  /** A bot cancels one of the orders that can be cancelled. */
  cancel(): void {
    const { chance, clock } = this.#world;
    const open = [...this.executions.values()]
      .filter(isCancellable)
      .filter(({ cancel }) => cancel === null || isFinalCancel(cancel.status));
    if (this.terminal === undefined || open.length === 0) return;
    const execution = chance.pick(open);
    const { executionId } = execution;
    const attempt = cancelMoves.nextCancelAttempt(execution);
    const cancelRequestId = `can_${executionId.slice(4)}_${attempt}`;
    this.#cancelled.set(cancelRequestId, executionId);
    this.#move(executionId, cancelMoves.requestCancel(cancelRequestId, clock.now(), {}));
    this.#move(executionId, cancelMoves.dispatchCancel);
    const cancel = { type: 'cancel', cancelRequestId, executionId, orderRef: 'not read' } as const;
    this.#send(cancelRequestId, cancel);
  }

  /** A terminal has connected: commands that none has acknowledged are sent again. */
  join(terminal: { receive(command: Command): void }): void {
    this.terminal = terminal;
    for (const command of this.#open.values()) {
      const isWanted =
        command.type === 'cancel' || this.#world.clock.now() < Date.parse(command.expiresAt);
      if (isWanted) terminal.receive(command);
    }
  }

  acknowledge(command: Command): void {
    const { executionId } = command;
    const id = command.type === 'submit' ? executionId : command.cancelRequestId;
    this.#open.delete(id);
    this.#move(
      executionId,
      command.type === 'submit' ? moves.acknowledge : cancelMoves.acknowledgeCancel(id),
    );
  }

  take(frame: NumberedFrame): void {
    if (frame.seq <= this.lastSeq) return;
    this.lastSeq = frame.seq;
    if (frame.type === 'report') {
      const { type: _type, seq: _seq, occurredAt: _at, executionId, ...evidence } = frame;
      this.report(executionId, evidence);
    } else if (frame.type === 'cancel_report') {
      const { cancelRequestId, status, reasonCode = null, native } = frame;
      const said = native === undefined ? {} : { native: toNative(native, nativeLengthMax.text) };
      const evidence = { cancelRequestId, status, reasonCode, ...said };
      const executionId = this.#cancelled.get(cancelRequestId) ?? '';
      this.#move(executionId, cancelMoves.reportCancel(evidence));
    }
  }

  report(executionId: string, evidence: Evidence): void {
    this.#move(
      executionId,
      moves.report(toExecutionReport(evidence, nativeLengthMax.text), fillRoom),
    );
  }

  tick(): void {
    const now = this.#world.clock.now();
    for (const [executionId, { dispatchedAt, confirmedAt, cancel }] of this.executions) {
      const unconfirmedMs = confirmedAt === null ? now - (dispatchedAt ?? now) : 0;
      if (unconfirmedMs >= limits.executionConfirmTimeoutMs.value) {
        this.#move(executionId, moves.becomeUnknown('confirmation_timeout'));
      }
      const unansweredMs = now - (cancel?.dispatchedAt ?? now);
      if (unansweredMs >= limits.cancelConfirmTimeoutMs.value) {
        this.#move(executionId, cancelMoves.timeOutCancel);
      }
    }
  }

  #send(id: string, command: Command): void {
    this.#open.set(id, command);
    this.terminal?.receive(command);
  }

  #move(executionId: string, move: Move): void {
    const before = this.executions.get(executionId);
    const after = before && moves.applyMove(before, move, this.#world.clock.now());
    if (after === undefined) return;
    this.executions.set(executionId, after);
    const { status, reasonCode, filledQuantity, cancel } = after;
    const said = `${status} ${reasonCode}, ${filledQuantity} filled, cancel ${cancel?.status}`;
    this.#world.note(() => `  at the gateway: ${executionId} ${said}`);
  }
}
