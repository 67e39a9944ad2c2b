/**
 * A reader of one terminal's events over all restarts of the gateway. It reconnects with
 * `Last-Event-ID` after a crash and after it has cut its own connection.
 */
import type { Chance } from '../chance.js';
import { openReader, type EventReader } from '../../support/event-reader.js';
import type { TerminalIdentity } from './observation.js';
import type { Conditions } from './refusals.js';
import type { Reading, StreamLog } from './stream-log.js';

const pauseMs = 50;
const pauseMsMax = 800;

export interface ResumingReaderDeps {
  readonly identity: TerminalIdentity;
  readonly key: string;
  readonly chance: Chance;
  readonly log: StreamLog;
  readonly conditions: Conditions;
  readonly gateway: { readonly isAlive: boolean };
}

export class ResumingReader {
  cutsConnections = false;
  readonly #deps: ResumingReaderDeps;
  #url: string | undefined;
  #startNumber = 0;
  #cursor: { readonly id: string; readonly startNumber: number } | undefined;
  #reader: EventReader | undefined;
  #connectedTo = 0;
  /** Failed attempts in a row. */
  #failures = 0;
  #wake: (() => void) | undefined;

  constructor(deps: ResumingReaderDeps) {
    this.#deps = deps;
    this.#cutAtRandom();
  }

  get identity(): TerminalIdentity {
    return this.#deps.identity;
  }

  /** Whether the reader is connected to the current gateway process. */
  get isReading(): boolean {
    return this.#reader?.ended === undefined && this.#connectedTo === this.#startNumber;
  }

  connectTo(url: string, startNumber: number): void {
    const isNew = this.#url === undefined;
    this.#url = url;
    this.#startNumber = startNumber;
    this.#wake?.();
    if (isNew) void this.#follow();
  }

  async #follow(): Promise<void> {
    for (;;) {
      const began = this.#startNumber;
      const hasRead = await this.#readOnce().then(
        () => true,
        () => false,
      );
      // A refused connection is no violation: the gateway may be gone.
      this.#failures = hasRead || began !== this.#startNumber ? 0 : this.#failures + 1;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        setTimeout(resolve, Math.min(pauseMsMax, pauseMs * 2 ** this.#failures));
      });
    }
  }

  /** Rejects when no program listens at the port. */
  async #readOnce(): Promise<void> {
    const { identity, key, log, conditions, gateway } = this.#deps;
    const reading: Reading = {
      identity,
      startNumber: this.#startNumber,
      cursorStart: this.#cursor?.startNumber,
      count: 0,
    };
    const { mayBeClosed, isDraining } = conditions;
    const { platform, instanceId, accountName } = identity;
    const reader = await openReader(this.#url as string, key, {
      source: { platform, instanceId, accountName },
      ...(this.#cursor === undefined ? {} : { cursor: this.#cursor.id }),
    });
    if (reader.status !== 200) {
      const isRefusing =
        mayBeClosed || conditions.mayBeClosed || isDraining || conditions.isDraining;
      // Another program may answer at the port of a gateway that is gone.
      const isGone = !gateway.isAlive || reading.startNumber !== this.#startNumber;
      const isExcused = (reader.status === 503 && isRefusing) || isGone;
      log.verdict.hold('a reader may come back', isExcused, () => [identity, reader.status]);
      return reader.close();
    }
    this.#reader = reader;
    this.#connectedTo = reading.startNumber;
    for (let seen = 0; ; seen = reader.count) {
      await reader.received(seen + 1).catch(() => undefined);
      for (const event of reader.events.splice(0)) log.take(reading, event);
      if (reader.lastId !== '') {
        this.#cursor = { id: reader.lastId, startNumber: reading.startNumber };
      }
      if (reader.ended !== undefined && reader.events.length === 0) return;
    }
  }

  #cutAtRandom(): void {
    setTimeout(
      () => {
        // Without an id to resume from, the reader would miss the events that come while it is away.
        if (this.cutsConnections && this.#reader?.lastId !== '') this.#reader?.close();
        this.#cutAtRandom();
      },
      this.#deps.chance.between(50, 1_500),
    ).unref();
  }
}
