/** Computes fills: deduplication, filled and remaining quantity, average price. */
import type { Execution, Fill } from '../model/execution.js';

/** @returns the same list when there is no fill or its fillId is known. */
export function fillsWith({ fills }: Execution, fill: Fill | undefined): readonly Fill[] {
  if (fill === undefined || fills.some(({ fillId }) => fillId === fill.fillId)) return fills;
  return [...fills, fill];
}

export function remainingAfter(execution: Execution, filledQuantity: number | null): number | null {
  if (filledQuantity === execution.filledQuantity) return execution.remainingQuantity;
  if (execution.quantity === null || filledQuantity === null) return null;
  return Math.max(0, rounded(execution.quantity - filledQuantity));
}

export function sumOf(fills: readonly Fill[]): number {
  return rounded(fills.reduce((sum, fill) => sum + fill.quantity, 0));
}

export function averageOf(fills: readonly Fill[]): number {
  const value = fills.reduce((sum, fill) => sum + fill.price * fill.quantity, 0);
  return rounded(value / sumOf(fills));
}

/** Removes floating-point error (0.1 + 0.2); twelve digits are more than any terminal quotes. */
function rounded(value: number): number {
  return Number(value.toPrecision(12));
}
