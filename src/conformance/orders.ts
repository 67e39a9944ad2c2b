/** The commands that the judge sends: payloads of orders that fill or rest, each with ids of its own. */
import { toIsoTime, type Clock } from '../lib/clock.js';
import { executionIdOf, orderRefOf, requestIdOf, type IdSource } from '../lib/ids.js';
import type { SubmitFrame } from '../plugins/protocol.js';

export interface OrderOptions {
  readonly clock: Clock;
  /** An instrument that the plugin's paper side trades. */
  readonly instrument: string;
  readonly quantity: number;
  /** Price at which a buy limit order rests. */
  readonly limitPrice: number;
  /** Price at which a buy limit order fills at once, for a venue without market orders. */
  readonly fillPrice?: number | undefined;
}

export class Orders {
  /** The rule that is judged: `signalId` has it, so that the plugin's log shows it. */
  rule = '';
  readonly #options: OrderOptions;
  readonly #ids: IdSource;

  constructor(options: OrderOptions, ids: IdSource) {
    this.#options = options;
    this.#ids = ids;
  }

  /** Payload of an order that fills at once. */
  get filling(): Record<string, unknown> {
    const { fillPrice } = this.#options;
    return fillPrice === undefined
      ? { ...this.unpriced, executionType: 'market' }
      : { ...this.unpriced, executionType: 'limit', limitPrice: fillPrice };
  }

  /** Payload of an order that rests. */
  get resting(): Record<string, unknown> {
    return { ...this.unpriced, executionType: 'limit', limitPrice: this.#options.limitPrice };
  }

  get unpriced(): Record<string, unknown> {
    const { instrument, quantity } = this.#options;
    return { instrument, side: 'buy', quantity };
  }

  /** A new command, not yet sent; by default an order that fills, and is valid for a minute. */
  command(fields: Partial<SubmitFrame> = {}): SubmitFrame {
    const requestId = requestIdOf(this.#ids.ulid());
    const executionId = executionIdOf(requestId, 0);
    const now = this.#options.clock.now();
    return {
      type: 'submit',
      executionId,
      requestId,
      signalId: `conformance-${this.rule}-${requestId}`,
      orderRef: orderRefOf(executionId),
      signalType: 'order',
      cmd: 'submit',
      payload: this.filling,
      ts: now,
      expiresAt: toIsoTime(now + 60_000),
      ...fields,
    };
  }
}
