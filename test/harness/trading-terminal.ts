/**
 * A terminal that trades by chance: it fills, fills in parts, rejects, lets rest, or says nothing, and
 * deals so with cancels too. As the protocol asks, it deduplicates by executionId and keeps what it
 * reported until the gateway has it on disk. Lives over as many connections as its program opens.
 */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { Chance } from './chance.js';
import { watchFrame } from '../support/frame-watch.js';
import { hello, type Frame } from '../support/plugin.js';

/** How it answers a submit, by weight. */
export interface Manners {
  readonly fills: number;
  readonly fillsInParts: number;
  readonly rejects: number;
  /** Works until it is cancelled, or its time is over. */
  readonly rests: number;
  /** Acknowledges and never reports. */
  readonly stalls: number;
  readonly ignores: number;
}

export interface TerminalWatch {
  /** `helloAt`: monotonic ms before which the connection that carried the frame could carry none. */
  readonly onSubmit?: (frame: Frame, helloAt: number) => void;
  /** Of an execution, its end by a cancel included. */
  readonly onSaid?: (executionId: string, status: string) => void;
  /** `isOwn`: it was this terminal that left. */
  readonly onClosed?: (code: number, isOwn: boolean) => void;
}

const restMsMax = 5_000;

export class ReactingTerminal {
  submits = 0;
  #socket: WebSocket | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #hasLeft = false;
  #seq = 0;
  /** Said and not known to be on disk, by `seq`. */
  readonly #unconfirmed = new Map<number, object>();
  readonly #known = new Set<string>();
  readonly #resting = new Map<string, NodeJS.Timeout>();
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(
    readonly source: { readonly instanceId: string; readonly accountName: string },
    readonly manners: Manners,
    readonly heartbeatMs: number,
    readonly chance: Chance,
    readonly watch: TerminalWatch = {},
  ) {}

  get isConnected(): boolean {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  /** Resolves with the welcome. */
  async connect(url: string, sessionToken: string): Promise<void> {
    const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/plugin/v1`, 'signalbox.plugin.v1', {
      headers: { authorization: `Bearer ${sessionToken}` },
    });
    this.#socket = socket;
    this.#hasLeft = false;
    socket.on('error', () => undefined);
    await once(socket, 'open');
    const helloAt = performance.now();
    const welcome = new Promise<void>((resolve, reject) => {
      socket.on('message', (data: Buffer) => {
        const frame = JSON.parse(data.toString()) as Frame;
        watchFrame(frame);
        if (frame.type === 'welcome') resolve();
        this.#take(frame, helloAt);
      });
      socket.on('close', (code: number) => {
        if (this.#socket === socket) clearInterval(this.#heartbeat);
        this.watch.onClosed?.(code, this.#hasLeft);
        reject(new Error(`closed with ${code} before the welcome`));
      });
    });
    this.#send({ ...hello, ...this.source });
    await welcome;
    clearInterval(this.#heartbeat);
    this.#heartbeat = setInterval(() => this.#send({ type: 'heartbeat' }), this.heartbeatMs);
  }

  /** Closes the connection, or cuts it without a word. */
  async disconnect(cut = false): Promise<void> {
    const socket = this.#socket;
    this.#hasLeft = true;
    clearInterval(this.#heartbeat);
    if (socket === undefined || socket.readyState === WebSocket.CLOSED) return;
    const closed = once(socket, 'close');
    if (cut) socket.terminate();
    else socket.close();
    await closed;
  }

  /** Nothing happens by itself any more. */
  async end(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    await this.disconnect(true);
  }

  /** An event of the terminal's own. */
  tell(rawText: string): void {
    this.#sayNumbered({ type: 'event', event: 'terminal_message', rawText });
  }

  #take(frame: Frame, helloAt: number): void {
    if (frame.type === 'welcome') {
      this.#confirm(frame['lastSeq']);
      this.#seq = Math.max(this.#seq, frame['lastSeq']);
      for (const said of this.#unconfirmed.values()) this.#send(said);
    } else if (frame.type === 'ack') {
      this.#confirm(frame['seq']);
    } else if (frame.type === 'submit') {
      this.watch.onSubmit?.(frame, helloAt);
      this.#submitted(frame);
    } else if (frame.type === 'cancel') {
      this.#cancelled(frame);
    }
  }

  #confirm(upTo: number): void {
    for (const seq of this.#unconfirmed.keys()) {
      if (seq > upTo) return;
      this.#unconfirmed.delete(seq);
    }
  }

  #submitted(frame: Frame): void {
    const executionId = frame['executionId'] as string;
    if (this.#known.has(executionId)) return;
    this.#known.add(executionId);
    this.submits++;
    const manner = this.chance.weigh({ ...this.manners });
    if (manner === 'ignores') return;
    this.#send({ type: 'ack', executionId });
    if (manner === 'stalls') return;
    const quantity = Number(frame['payload']?.quantity ?? 1);
    this.#later(this.chance.between(1, 60), () => {
      if (manner === 'rejects') {
        this.#report(executionId, 'rejected', { reasonCode: 'broker_rejected' });
      } else if (manner === 'fills') {
        this.#fill(executionId, 'filled', 1, quantity);
      } else if (manner === 'fillsInParts') {
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
    const manner = this.chance.weigh({ cancels: 80, refuses: 10, ignores: 10 });
    if (manner === 'ignores') return;
    const say = (status: string): void =>
      this.#sayNumbered({ type: 'cancel_report', cancelRequestId, status });
    const timer = this.#resting.get(executionId);
    if (timer === undefined || manner === 'refuses') return say('rejected');
    clearTimeout(timer);
    this.#timers.delete(timer);
    this.#resting.delete(executionId);
    this.watch.onSaid?.(executionId, 'cancelled');
    say('cancelled');
  }

  #fill(executionId: string, status: string, number: number, quantity: number): void {
    const filledAt = '2026-01-31T12:00:00.000Z';
    const fillId = `${executionId}-${number}`;
    this.#report(executionId, status, { fill: { fillId, price: 100, quantity, filledAt } });
  }

  #report(executionId: string, status: string, fields: object = {}): void {
    this.watch.onSaid?.(executionId, status);
    this.#sayNumbered({ type: 'report', executionId, status, ...fields });
  }

  #sayNumbered(fields: object): void {
    const frame = { ...fields, seq: ++this.#seq };
    this.#unconfirmed.set(this.#seq, frame);
    this.#send(frame);
  }

  #send(frame: object): void {
    if (this.isConnected) this.#socket?.send(JSON.stringify(frame));
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
