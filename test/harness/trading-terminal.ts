/**
 * A terminal that trades at random: it fills, fills in parts, rejects, leaves working or ignores an
 * order, and treats cancels alike. As the protocol asks, it deduplicates by executionId and keeps its
 * reports until the gateway has acknowledged them, over any number of connections.
 */
import type { Chance } from './chance.js';
import { connectPlugin, hello, type Frame, type Plugin } from '../support/plugin.js';
import { UnacknowledgedFrames } from '../support/unacknowledged.js';

/** Weights of its answers to a submit. */
export interface BehaviourWeights {
  readonly fills: number;
  readonly fillsInParts: number;
  readonly rejects: number;
  /** Reports working, until a cancel or `expired`. */
  readonly rests: number;
  /** Acknowledges and never reports. */
  readonly stalls: number;
  readonly ignores: number;
}

export interface TerminalWatch {
  /** `helloAt`: monotonic ms just before the hello of the connection that carried the frame. */
  readonly onSubmit?: (frame: Frame, helloAt: number) => void;
  /** Gets every reported status of an execution, its end by a cancel included. */
  readonly onReported?: (executionId: string, status: string) => void;
  /** `isOwn`: the terminal closed the connection itself. */
  readonly onClosed?: (code: number, isOwn: boolean) => void;
}

const restMsMax = 5_000;

export class TradingTerminal {
  #plugin: Plugin | undefined;
  /** The kept reports were sent on this connection: frames with higher numbers may follow. */
  #isWelcomed = false;
  #heartbeat: NodeJS.Timeout | undefined;
  #hasLeft = false;
  readonly #unacknowledged = new UnacknowledgedFrames();
  readonly #known = new Set<string>();
  readonly #resting = new Map<string, NodeJS.Timeout>();
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(
    readonly source: { readonly instanceId: string; readonly accountName: string },
    readonly behaviours: BehaviourWeights,
    readonly heartbeatMs: number,
    readonly chance: Chance,
    readonly watch: TerminalWatch = {},
  ) {}

  get isConnected(): boolean {
    return this.#plugin?.isOpen === true;
  }

  /** Resolves with the welcome. */
  async connect(url: string, sessionToken: string): Promise<void> {
    this.#hasLeft = false;
    this.#isWelcomed = false;
    let welcomed: () => void = () => undefined;
    let isOpened = false;
    let helloAt = performance.now();
    const plugin = await connectPlugin(url, sessionToken, {
      onFrame: (frame) => {
        if (frame.type === 'welcome') welcomed();
        this.#take(frame, helloAt);
      },
      onClose: (code, plugin) => {
        if (this.#plugin === plugin) clearInterval(this.#heartbeat);
        if (isOpened) this.watch.onClosed?.(code, this.#hasLeft);
      },
    });
    this.#plugin = plugin;
    isOpened = true;
    helloAt = performance.now();
    const welcome = new Promise<void>((resolve, reject) => {
      welcomed = resolve;
      void plugin.waitClosed().then(({ code }) => {
        reject(new Error(`closed with ${code} before the welcome`));
      });
    });
    this.#send({ ...hello, ...this.source });
    await welcome;
    clearInterval(this.#heartbeat);
    this.#heartbeat = setInterval(() => this.#send({ type: 'heartbeat' }), this.heartbeatMs);
  }

  /** Closes the connection, or cuts it without a close frame. */
  async disconnect(cut = false): Promise<void> {
    const plugin = this.#plugin;
    this.#hasLeft = true;
    clearInterval(this.#heartbeat);
    if (plugin === undefined || plugin.closed !== undefined) return;
    if (cut) plugin.cut();
    else plugin.close();
    await plugin.waitClosed();
  }

  /** Stops all timers and cuts the connection. */
  async end(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    await this.disconnect(true);
  }

  /** Sends an event. */
  sendEvent(rawText: string): void {
    this.#sendNumbered({ type: 'event', event: 'terminal_message', rawText });
  }

  #take(frame: Frame, helloAt: number): void {
    if (frame.type === 'welcome') {
      this.#unacknowledged.welcomed(frame['lastSeq']);
      for (const report of this.#unacknowledged.frames) this.#send(report);
      this.#isWelcomed = true;
    } else if (frame.type === 'ack') {
      this.#unacknowledged.acknowledge(frame['seq']);
    } else if (frame.type === 'submit') {
      this.watch.onSubmit?.(frame, helloAt);
      this.#submitted(frame);
    } else if (frame.type === 'cancel') {
      this.#cancelled(frame);
    }
  }

  #submitted(frame: Frame): void {
    const executionId = frame['executionId'] as string;
    if (this.#known.has(executionId)) return;
    this.#known.add(executionId);
    const behaviour = this.chance.weigh({ ...this.behaviours });
    if (behaviour === 'ignores') return;
    this.#send({ type: 'ack', executionId });
    if (behaviour === 'stalls') return;
    const quantity = Number(frame['payload']?.quantity ?? 1);
    this.#later(this.chance.between(1, 60), () => {
      if (behaviour === 'rejects') {
        this.#report(executionId, 'rejected', { reasonCode: 'broker_rejected' });
      } else if (behaviour === 'fills') {
        this.#fill(executionId, 'filled', 1, quantity);
      } else if (behaviour === 'fillsInParts') {
        this.#fill(executionId, 'partially_filled', 1, quantity / 2);
        this.#later(this.chance.between(1, 300), () =>
          this.#fill(executionId, 'filled', 2, quantity / 2),
        );
      } else {
        this.#rest(executionId);
      }
    });
  }

  #rest(executionId: string): void {
    this.#report(executionId, 'working');
    this.#resting.set(
      executionId,
      this.#later(this.chance.between(restMsMax / 4, restMsMax), () => {
        this.#resting.delete(executionId);
        this.#report(executionId, 'expired', { reasonCode: 'time_in_force_expired' });
      }),
    );
  }

  #cancelled(frame: Frame): void {
    const cancelRequestId = frame['cancelRequestId'] as string;
    const executionId = frame['executionId'] as string;
    const behaviour = this.chance.weigh({ cancels: 80, refuses: 10, ignores: 10 });
    if (behaviour === 'ignores') return;
    const say = (status: string): void =>
      this.#sendNumbered({ type: 'cancel_report', cancelRequestId, status });
    const timer = this.#resting.get(executionId);
    if (timer === undefined || behaviour === 'refuses') return say('rejected');
    clearTimeout(timer);
    this.#timers.delete(timer);
    this.#resting.delete(executionId);
    this.watch.onReported?.(executionId, 'cancelled');
    say('cancelled');
  }

  #fill(executionId: string, status: string, number: number, quantity: number): void {
    const filledAt = '2026-01-31T12:00:00.000Z';
    const fillId = `${executionId}-${number}`;
    this.#report(executionId, status, { fill: { fillId, price: 100, quantity, filledAt } });
  }

  #report(executionId: string, status: string, fields: object = {}): void {
    this.watch.onReported?.(executionId, status);
    this.#sendNumbered({ type: 'report', executionId, status, ...fields });
  }

  #sendNumbered(fields: object): void {
    const frame = this.#unacknowledged.add(fields);
    if (this.#isWelcomed) this.#send(frame);
  }

  #send(frame: object): void {
    if (this.isConnected) this.#plugin?.send(frame);
  }

  #later(delayMs: number, task: () => void): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      task();
    }, delayMs);
    this.#timers.add(timer);
    return timer;
  }
}
