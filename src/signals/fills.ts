/** Computes fills: deduplication, list and sums, filled and remaining quantity, average price. */
import { digitsKept, rounded } from '../lib/decimal.js';
import type { Execution, Fill, UnlistedFills } from '../model/execution.js';

/** How many of the latest unlisted fills keep their fillId, by which a repeated report is recognised; `min` without room. */
const unlistedIds = { max: 64, min: 4 } as const;

/** What an execution may hold of its fills. */
export interface FillRoom {
  readonly listed: number;
  /** Ids of unlisted fills. */
  readonly ids: number;
}

/** @param room how many more fills, or ids of fills, the user may hold. */
export function fillRoom(
  { fills, unlistedFills }: Fills,
  room: number,
  listedMax: number,
): FillRoom {
  const ids = Math.max(unlistedIds.min, (unlistedFills?.lastIds.length ?? 0) + room);
  return {
    listed: Math.min(listedMax, fills.length + room),
    ids: Math.min(unlistedIds.max, ids),
  };
}

export type Fills = Pick<Execution, 'fills' | 'unlistedFills'>;

/**
 * Adds a fill: to the list while it has room, then to the sums of what is not listed.
 * @returns undefined when there is no fill or its fillId is known.
 */
export function fillsWith(
  before: Fills,
  fill: Fill | undefined,
  room: FillRoom,
): Fills | undefined {
  if (fill === undefined || isKnown(before, fill)) return undefined;
  const { fills, unlistedFills: unlisted } = before;
  if (unlisted === undefined && fills.length < room.listed) return { fills: appended(fills, fill) };
  const { count, quantity, value, lastIds } = unlisted ?? nothing;
  return {
    fills,
    unlistedFills: {
      count: count + 1,
      quantity: rounded(quantity + fill.quantity),
      value: rounded(value + fill.price * fill.quantity),
      lastIds: [...lastIds, fill.fillId].slice(-room.ids),
    },
  };
}

export function isKnown({ fills, unlistedFills }: Fills, { fillId }: Fill): boolean {
  return totalsOf(fills).ids.has(fillId) || unlistedFills?.lastIds.includes(fillId) === true;
}

/** A sum that keeps what each addition loses to rounding: ten thousand times 0.1 is 1,000 to the last digit. */
class Sum {
  #total = 0;
  #lost = 0;

  get value(): number {
    // Once the total has overflowed, `#lost` is not finite either.
    return Number.isFinite(this.#total) ? this.#total + this.#lost : this.#total;
  }

  add(value: number): void {
    const before = this.#total;
    this.#total += value;
    const [large, small] = Math.abs(before) >= Math.abs(value) ? [before, value] : [value, before];
    this.#lost += large - this.#total + small;
  }
}

/** The sums and ids of a list, kept so that a further fill costs the same however long the list is. */
interface Totals {
  readonly quantity: Sum;
  /** Sum of price times quantity. */
  readonly value: Sum;
  readonly ids: Set<string>;
}

const totals = new WeakMap<readonly Fill[], Totals>();

function totalsOf(fills: readonly Fill[]): Totals {
  let known = totals.get(fills);
  if (known === undefined) {
    known = { quantity: new Sum(), value: new Sum(), ids: new Set() };
    for (const fill of fills) add(known, fill);
    totals.set(fills, known);
  }
  return known;
}

/** Moves the totals to the longer list; a later use of the shorter one counts anew. */
function appended(fills: readonly Fill[], fill: Fill): readonly Fill[] {
  const known = totalsOf(fills);
  const longer = [...fills, fill];
  totals.delete(fills);
  add(known, fill);
  totals.set(longer, known);
  return longer;
}

function add(known: Totals, { fillId, price, quantity }: Fill): void {
  known.quantity.add(quantity);
  known.value.add(price * quantity);
  known.ids.add(fillId);
}

const nothing: UnlistedFills = { count: 0, quantity: 0, value: 0, lastIds: [] };

export function remainingAfter(execution: Execution, filledQuantity: number | null): number | null {
  if (filledQuantity === execution.filledQuantity) return execution.remainingQuantity;
  if (execution.quantity === null || filledQuantity === null) return null;
  return Math.max(0, difference(execution.quantity, filledQuantity));
}

/** What an execution becomes when nothing of its order remains. */
export const asFilled = { status: 'filled', reasonCode: null } as const;

/** An order for zero or less is never complete: its terminal rejects it, or reads it in its own way. */
export function isComplete({ quantity }: Execution, filledQuantity: number | null): boolean {
  return quantity !== null && quantity > 0 && reaches(filledQuantity ?? 0, quantity);
}

/** Whether a sum of fractions is all of a quantity, both rounded to the digits that are kept. */
export function reaches(sum: number, quantity: number): boolean {
  return rounded(sum) >= rounded(quantity);
}

export function sumOf({ fills, unlistedFills = nothing }: Fills): number {
  return rounded(totalsOf(fills).quantity.value + unlistedFills.quantity);
}

/** @returns null when it is not finite: earlier versions took any number. */
export function averageOf(all: Fills): number | null {
  const { fills, unlistedFills = nothing } = all;
  const value = totalsOf(fills).value.value + unlistedFills.value;
  const average = rounded(value / sumOf(all));
  return Number.isFinite(average) ? average : null;
}

/** Rounds to the last digit of `whole`: what lies behind that is floating-point error. */
function difference(whole: number, part: number): number {
  const decimals = digitsKept - 1 - Math.floor(Math.log10(Math.abs(whole)));
  const difference = rounded(whole) - rounded(part);
  return Number(difference.toFixed(Math.min(100, Math.max(0, decimals))));
}
