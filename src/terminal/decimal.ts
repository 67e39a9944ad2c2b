/** Decimal amounts in binary fractions: 0.1 + 0.2 must read 0.3 in what a terminal reports. */

/** Twelve significant digits are more than any terminal quotes. */
export function tidy(value: number): number {
  return Number(value.toPrecision(12));
}

/** How many times `step` fits into `value`, or undefined when it does not fit evenly. */
export function stepsIn(value: number, step: number): number | undefined {
  const steps = Math.round(value / step);
  return Math.abs(steps * step - value) <= step * 1e-6 ? steps : undefined;
}
