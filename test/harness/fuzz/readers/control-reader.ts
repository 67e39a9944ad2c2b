/**
 * The one reader of the attacked source that behaves, and the plugin that speaks there: what the
 * plugin said must come to the reader once, whole and in order, whatever other readers do.
 */
import { eventually } from '../../../support/eventually.js';
import { openReader, type EventReader } from '../../../support/event-reader.js';
import { openPlugin, type Plugin } from '../../../support/plugin.js';
import type { Arena } from '../test-bed.js';
import { inTime } from '../deadline.js';
import type { StreamName } from './stream-requests.js';

/** Frames that are not acknowledged yet; more at once would measure the plugin's socket, not the readers. */
const framesAtOnce = 50;

export class GoodReader {
  readonly source: StreamName;
  readonly #arena: Arena;
  #plugin!: Plugin;
  #reader!: EventReader;
  #said = 0;
  #checked = 0;

  private constructor(arena: Arena) {
    this.#arena = arena;
    const mark = arena.isolation.markOf(arena.attacker.email);
    this.source = { platform: 'terminal_a', instanceId: `${mark}-read`, accountName: mark };
  }

  static async open(arena: Arena): Promise<GoodReader> {
    const good = new GoodReader(arena);
    const { sessionToken, key } = arena.attacker;
    good.#plugin = await openPlugin(arena.url, sessionToken, good.source);
    good.#reader = await openReader(arena.url, key, { source: good.source });
    await good.publish(1, 10);
    return good;
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
        (await inTime(this.#plugin.next('ack'), () => 'no ack for an event'))['seq'] < this.#said
      );
    }
  }

  /** Its place: a cursor with nothing behind it. */
  async newest(): Promise<string> {
    await eventually(() => this.isUpToDate, 30_000);
    return this.#reader.lastId;
  }

  /** Waits until the gateway has seen every other reader of it leave. */
  async aloneAgain(): Promise<void> {
    await eventually(async () => {
      const text = await (await fetch(`${this.#arena.gateway.process.opsUrl}/metrics`)).text();
      // The bystander's and this one.
      return /^signalbox_open_streams 2$/m.test(text);
    }, 30_000);
  }

  async check(): Promise<void> {
    const { verdict } = this.#arena.trial;
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
      this.#arena.isolation.search(this.#arena.attacker.email, JSON.stringify(data));
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
