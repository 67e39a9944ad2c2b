/**
 * Several processes of one terminal that fight for its source while orders flow. They share what the
 * terminal has noted, as PROTOCOL.md asks: whoever was welcomed last speaks, and says again what was
 * not acknowledged.
 */
import { connectPlugin, type Frame, type Plugin } from '../../../support/plugin.js';
import { inTime } from '../deadline.js';

interface SourceName {
  readonly platform: string;
  readonly instanceId: string;
  readonly accountName: string;
}

export class Fighters {
  /** How often each command has come. */
  readonly handed = new Map<string, number>();
  readonly closes: number[] = [];
  #seq = 0;
  readonly #unacknowledged = new Map<number, object>();
  readonly #welcomed: Plugin[] = [];

  constructor(
    readonly url: string,
    readonly sessionToken: string,
    readonly source: SourceName,
  ) {}

  /** Those whose connection stands. */
  get standing(): readonly Plugin[] {
    return this.#welcomed;
  }

  get isAllAcknowledged(): boolean {
    return this.#unacknowledged.size === 0;
  }

  /** One more comes, and is welcomed or beaten at once. */
  async join(): Promise<void> {
    const plugin = await connectPlugin(this.url, this.sessionToken);
    const decided = new Promise<void>((resolve) => {
      plugin.socket.on('message', (data: Buffer) => {
        const frame = JSON.parse(data.toString()) as Frame;
        if (frame.type === 'welcome') resolve();
        this.#hear(plugin, frame);
      });
      plugin.socket.on('close', (code) => {
        this.#leave(plugin, code);
        resolve();
      });
    });
    plugin.send({ type: 'hello', ...this.source, capabilities: ['submit', 'cancel'] });
    await inTime(decided, () => 'neither a welcome nor a close');
  }

  end(): void {
    for (const plugin of this.#welcomed) plugin.cut();
  }

  #hear(plugin: Plugin, frame: Frame): void {
    if (frame.type === 'welcome') {
      this.#welcomed.push(plugin);
      this.#seq = Math.max(this.#seq, frame['lastSeq']);
      this.#forget(frame['lastSeq']);
      this.#sayAgain(plugin);
    } else if (frame.type === 'ack') {
      this.#forget(frame['seq']);
    } else if (frame.type === 'submit') {
      this.#execute(plugin, frame['executionId']);
    }
  }

  /** Once, however often it comes. */
  #execute(plugin: Plugin, executionId: string): void {
    const times = (this.handed.get(executionId) ?? 0) + 1;
    this.handed.set(executionId, times);
    plugin.send({ type: 'ack', executionId });
    if (times > 1) return;
    const seq = ++this.#seq;
    const fill = { fillId: 'only', price: 1, quantity: 3, filledAt: '2026-01-01T00:00:00Z' };
    this.#unacknowledged.set(seq, { type: 'report', seq, executionId, status: 'filled', fill });
    const speaker = this.#welcomed.at(-1);
    if (speaker !== undefined) this.#sayAgain(speaker);
  }

  #sayAgain(plugin: Plugin): void {
    for (const frame of this.#unacknowledged.values()) plugin.send(frame);
  }

  #forget(upTo: number): void {
    for (const seq of this.#unacknowledged.keys()) {
      if (seq <= upTo) this.#unacknowledged.delete(seq);
    }
  }

  #leave(plugin: Plugin, code: number): void {
    this.closes.push(code);
    const place = this.#welcomed.indexOf(plugin);
    const wasSpeaker = place === this.#welcomed.length - 1;
    if (place >= 0) this.#welcomed.splice(place, 1);
    const next = this.#welcomed.at(-1);
    if (wasSpeaker && next !== undefined) this.#sayAgain(next);
  }
}
