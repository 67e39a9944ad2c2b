/**
 * A reader of one terminal's events through all lives of the gateway: resumes after the last event
 * that it has, after a crash as well as after a cut of its own.
 */
import type { Chance } from '../chance.js';
import { openReader, type EventReader } from '../../support/event-reader.js';
import type { TerminalPlace } from './observation.js';
import type { Circumstances } from './refusals.js';
import type { Reading, StreamLog } from './stream-log.js';

const pauseMs = 20;

export interface FollowerDeps {
  readonly place: TerminalPlace;
  readonly key: string;
  readonly chance: Chance;
  readonly log: StreamLog;
  readonly circumstances: Circumstances;
}

export class Follower {
  isRestless = false;
  readonly #deps: FollowerDeps;
  #url: string | undefined;
  #life = 0;
  #cursor: { readonly id: string; readonly life: number } | undefined;
  #reader: EventReader | undefined;
  #readingLife = 0;

  constructor(deps: FollowerDeps) {
    this.#deps = deps;
    this.#cutNowAndThen();
  }

  get place(): TerminalPlace {
    return this.#deps.place;
  }

  /** It is connected to this life of the gateway. */
  get isReading(): boolean {
    return this.#reader?.ended === undefined && this.#readingLife === this.#life;
  }

  go(url: string, life: number): void {
    const isNew = this.#url === undefined;
    this.#url = url;
    this.#life = life;
    if (isNew) void this.#follow();
  }

  async #follow(): Promise<void> {
    for (;;) {
      await this.#readOnce().catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }

  /** Rejects when nobody listens. */
  async #readOnce(): Promise<void> {
    const { place, key, log, circumstances } = this.#deps;
    const reading: Reading = {
      place,
      life: this.#life,
      cursorLife: this.#cursor?.life,
      count: 0,
    };
    const { mayBeClosed, isDraining } = circumstances;
    const { platform, instanceId, accountName } = place;
    const reader = await openReader(this.#url as string, key, {
      source: { platform, instanceId, accountName },
      ...(this.#cursor === undefined ? {} : { cursor: this.#cursor.id }),
    });
    if (reader.status !== 200) {
      const isExcused =
        reader.status === 503 &&
        (mayBeClosed || circumstances.mayBeClosed || isDraining || circumstances.isDraining);
      log.verdict.hold('a reader may come back', isExcused, () => [place, reader.status]);
      return reader.close();
    }
    this.#reader = reader;
    this.#readingLife = reading.life;
    for (let seen = 0; ; seen = reader.count) {
      await reader.received(seen + 1).catch(() => undefined);
      for (const event of reader.events.splice(0)) {
        log.take(reading, event);
        this.#cursor = { id: event.id, life: reading.life };
      }
      if (reader.ended !== undefined && reader.events.length === 0) return;
    }
  }

  #cutNowAndThen(): void {
    setTimeout(
      () => {
        if (this.isRestless) this.#reader?.close();
        this.#cutNowAndThen();
      },
      this.#deps.chance.between(50, 1_500),
    ).unref();
  }
}
