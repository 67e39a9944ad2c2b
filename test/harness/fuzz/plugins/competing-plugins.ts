/**
 * Several connections of one terminal that take its source from each other while orders arrive. They
 * share the terminal's reports, as PROTOCOL.md asks: the connection that was welcomed last repeats
 * those that were not acknowledged.
 */
import type { SourceName } from '../../../../src/model/source-name.js';
import { connectPlugin, type Frame, type Plugin } from '../../../support/plugin.js';
import { UnacknowledgedFrames } from '../../../support/unacknowledged.js';
import { withDeadline } from '../deadline.js';

export class CompetingPlugins {
  /** executionId → how often its submit arrived. */
  readonly submits = new Map<string, number>();
  readonly closes: number[] = [];
  readonly #unacknowledged = new UnacknowledgedFrames();
  readonly #welcomed: Plugin[] = [];

  constructor(
    readonly url: string,
    readonly sessionToken: string,
    readonly source: SourceName,
  ) {}

  /** Connections that are welcomed and not closed. */
  get connected(): readonly Plugin[] {
    return this.#welcomed;
  }

  get isAllAcknowledged(): boolean {
    return this.#unacknowledged.size === 0;
  }

  /** Opens another connection; resolves when it is welcomed, or closed by the next one. */
  async join(): Promise<void> {
    let decide: () => void = () => undefined;
    const decided = new Promise<void>((resolve) => (decide = resolve));
    const plugin = await connectPlugin(this.url, this.sessionToken, {
      onFrame: (frame, plugin) => {
        if (frame.type === 'welcome') decide();
        this.#take(frame, plugin);
      },
      onClose: (code, plugin) => {
        this.#closed(code, plugin);
        decide();
      },
    });
    plugin.send({ type: 'hello', ...this.source, capabilities: ['submit', 'cancel'] });
    await withDeadline(decided, () => 'neither a welcome nor a close');
  }

  end(): void {
    for (const plugin of this.#welcomed) plugin.cut();
  }

  #take(frame: Frame, plugin: Plugin): void {
    if (frame.type === 'welcome') {
      this.#welcomed.push(plugin);
      this.#unacknowledged.welcomed(frame['lastSeq']);
      this.#repeatReports(plugin);
    } else if (frame.type === 'ack') {
      this.#unacknowledged.acknowledge(frame['seq']);
    } else if (frame.type === 'submit') {
      this.#execute(plugin, frame['executionId']);
    }
  }

  /** Executes an order once and acknowledges it every time. */
  #execute(plugin: Plugin, executionId: string): void {
    const times = (this.submits.get(executionId) ?? 0) + 1;
    this.submits.set(executionId, times);
    plugin.send({ type: 'ack', executionId });
    if (times > 1) return;
    const fill = { fillId: 'only', price: 1, quantity: 3, filledAt: '2026-01-01T00:00:00Z' };
    this.#unacknowledged.add({ type: 'report', executionId, status: 'filled', fill });
    const speaker = this.#welcomed.at(-1);
    if (speaker !== undefined) this.#repeatReports(speaker);
  }

  #repeatReports(plugin: Plugin): void {
    for (const frame of this.#unacknowledged.frames) plugin.send(frame);
  }

  #closed(code: number, plugin: Plugin): void {
    this.closes.push(code);
    const place = this.#welcomed.indexOf(plugin);
    const wasLast = place === this.#welcomed.length - 1;
    if (place >= 0) this.#welcomed.splice(place, 1);
    const next = this.#welcomed.at(-1);
    if (wasLast && next !== undefined) this.#repeatReports(next);
  }
}
