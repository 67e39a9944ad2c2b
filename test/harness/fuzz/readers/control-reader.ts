/**
 * The one well-behaved reader of the attacked source, and its plugin: every event of the plugin must
 * reach the reader once and in order, whatever other readers do.
 */
import type { SourceName } from '../../../../src/model/source-name.js';
import { eventually } from '../../../support/eventually.js';
import { openReader, type EventReader } from '../../../support/event-reader.js';
import { openPlugin, type Plugin } from '../../../support/plugin.js';
import type { TestBed } from '../test-bed.js';
import { withDeadline } from '../deadline.js';

/** Most unacknowledged frames: more would test the plugin's socket instead of the readers. */
const framesAtOnce = 50;

export class ControlReader {
  readonly source: SourceName;
  readonly #bed: TestBed;
  #plugin!: Plugin;
  #reader!: EventReader;
  #said = 0;
  #checked = 0;

  private constructor(bed: TestBed) {
    this.#bed = bed;
    const mark = bed.isolation.markOf(bed.attacker.email);
    this.source = { platform: 'terminal_a', instanceId: `${mark}-read`, accountName: mark };
  }

  static async open(bed: TestBed): Promise<ControlReader> {
    const control = new ControlReader(bed);
    const { sessionToken, key } = bed.attacker;
    control.#plugin = await openPlugin(bed.url, sessionToken, control.source);
    control.#reader = await openReader(bed.url, key, { source: control.source });
    await control.publish(1, 10);
    return control;
  }

  get count(): number {
    return this.#reader.count;
  }

  get isUpToDate(): boolean {
    return this.#checked + this.#own().length === this.#said;
  }

  async publish(count: number, bytes: number): Promise<void> {
    for (let left = count; left > 0; left -= framesAtOnce) {
      for (let each = Math.min(left, framesAtOnce); each > 0; each--) {
        const seq = ++this.#said;
        const data = { text: `word ${seq}`, filling: 'f'.repeat(bytes) };
        this.#plugin.send({ type: 'event', seq, event: 'terminal_message', data });
      }
      while (
        (await withDeadline(this.#plugin.next('ack'), () => 'no ack for an event'))['seq'] <
        this.#said
      );
    }
  }

  /** @returns the cursor of the newest event, after all have been read. */
  async newest(): Promise<string> {
    await eventually(() => this.isUpToDate, 30_000);
    return this.#reader.lastId;
  }

  /** Waits until the gateway has closed every other stream. */
  async aloneAgain(): Promise<void> {
    await eventually(async () => {
      const text = await (await fetch(`${this.#bed.gateway.process.opsUrl}/metrics`)).text();
      // The bystander's stream and this one.
      return /^signalbox_open_streams 2$/m.test(text);
    }, 30_000);
  }

  async check(): Promise<void> {
    const { verdict } = this.#bed.run;
    await eventually(() => this.isUpToDate, 30_000).catch(() => undefined);
    const own = this.#own();
    const isOrdered = own.every((text, place) => text === `word ${this.#checked + place + 1}`);
    verdict.hold(
      'a good reader gets every event, once and in order',
      isOrdered && this.isUpToDate,
      () => ({
        from: this.#checked + 1,
        said: this.#said,
        own: own.slice(0, 50),
        ended: this.#reader.ended,
      }),
    );
    this.#checked += own.length;
    for (const { data } of this.#reader.events.splice(0)) {
      this.#bed.isolation.search(this.#bed.attacker.email, JSON.stringify(data));
    }
  }

  close(): void {
    this.#reader.close();
    this.#plugin.close();
  }

  #own(): string[] {
    return this.#reader.events
      .filter(({ name }) => name === 'terminal_message')
      .map(({ data }) => data.data.text as string);
  }
}
