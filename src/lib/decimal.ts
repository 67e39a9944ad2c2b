/** Decimal arithmetic on floating-point numbers: 0.1 + 0.2 must be 0.3 in reports. */

/** Digits that a floating-point number keeps of every decimal. */
export const digitsKept = 15;

/** Removes floating-point error. */
export function rounded(value: number): number {
  return Number(value.toPrecision(digitsKept));
}

/** @returns how many times `step` fits into `value`; undefined when `value` is not a multiple. */
export function stepsIn(value: number, step: number): number | undefined {
  const steps = Math.round(value / step);
  return Math.abs(steps * step - value) <= step * 1e-6 ? steps : undefined;
}
