/**
 * Judges orders by the limits of their API key; what cannot be read counts as above the limit. Owns the orders of each
 * key in the last second; they are lost with the process.
 */
import type { FieldError } from '../errors.js';
import type { Clock } from '../lib/clock.js';
import { ambiguousMembers } from '../lib/json-members.js';
import type { ApiKey, KeyLimits } from '../model/records.js';
import { BucketMap } from '../quota/token-bucket.js';
import type { SignalSubmission } from './accepted-signal.js';
import { isOrder, type Envelope, type OrderTerms } from './envelope.js';
import type { OpenOrders } from './open-orders.js';
import type { Target } from './routing.js';

export interface RiskRefusal {
  readonly code: 'risk_limit_exceeded' | 'signal_rate_limit_exceeded';
  readonly details?: readonly FieldError[];
  /** Seconds. */
  readonly retryAfter?: number;
}

/** The payload is judged as text, too, because the terminal reads the text. */
type Order = Pick<SignalSubmission, 'envelope' | 'payload' | 'targets'>;

export interface RiskLimitsDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly openOrders: Pick<OpenOrders, 'of'>;
}

const windowMs = 1_000;

export class RiskLimits {
  readonly #deps: RiskLimitsDeps;
  readonly #rates = new BucketMap<number>(0, { windowMs, entriesMax: Infinity });

  constructor(deps: RiskLimitsDeps) {
    this.#deps = deps;
  }

  /** Does not count the order yet: the signal may still be refused for another reason. */
  judge(key: ApiKey, order: Order): RiskRefusal | undefined {
    const { limits } = key;
    if (limits === null || limits === undefined || !isOrder(order.envelope)) return undefined;
    const details = [
      ...payloadFaults(limits, order),
      ...this.#openOrderFaults(limits, key.id, order.targets),
    ];
    if (details.length > 0) return { code: 'risk_limit_exceeded', details };
    const { maxOrdersPerSecond } = limits;
    if (maxOrdersPerSecond === undefined) return undefined;
    const now = this.#deps.clock.monotonic();
    const waitMs = this.#rates.of(key.id, now, maxOrdersPerSecond).retryAfterMs(now);
    if (waitMs === 0) return undefined;
    return { code: 'signal_rate_limit_exceeded', retryAfter: waitMs / 1_000 };
  }

  /** Counts an order that was judged in this turn and is accepted. */
  take({ id, limits }: ApiKey, envelope: Envelope): void {
    const capacity = limits?.maxOrdersPerSecond;
    if (capacity === undefined || !isOrder(envelope)) return;
    const now = this.#deps.clock.monotonic();
    this.#rates.of(id, now, capacity).take(now);
  }

  #openOrderFaults(
    { maxOpenOrders }: KeyLimits,
    keyId: number,
    targets: readonly Target[],
  ): FieldError[] {
    if (maxOpenOrders === undefined) return [];
    const more = targets.filter(({ deniedFor }) => deniedFor === null).length;
    const isAbove = more > 0 && this.#deps.openOrders.of(keyId) + more > maxOpenOrders;
    return isAbove ? [{ field: '$', code: 'too_many_open_orders' }] : [];
  }
}

function payloadFaults(limits: KeyLimits, { envelope, payload }: Order): FieldError[] {
  const { allowedInstruments, maxOrderQuantity } = limits;
  const faults: FieldError[] = [];
  if (allowedInstruments === undefined && maxOrderQuantity === undefined) return faults;
  const ambiguous = ambiguousMembers(payload, ['instrument', 'quantity']);
  const terms = envelope.payload as OrderTerms;
  const valueOf = (name: keyof OrderTerms): unknown =>
    ambiguous.has(name) ? undefined : terms[name];
  if (allowedInstruments !== undefined) {
    const instrument = valueOf('instrument');
    if (typeof instrument !== 'string' || !allowedInstruments.includes(instrument)) {
      faults.push({ field: 'payload.instrument', code: 'instrument_not_allowed' });
    }
  }
  if (maxOrderQuantity !== undefined) {
    const quantity = valueOf('quantity');
    if (typeof quantity !== 'number' || !Number.isFinite(quantity)) {
      faults.push({ field: 'payload.quantity', code: 'unreadable' });
    } else if (Math.abs(quantity) > maxOrderQuantity) {
      // A terminal may take a negative quantity for a sale.
      faults.push({ field: 'payload.quantity', code: 'above_limit' });
    }
  }
  return faults;
}
