/** The limits as shipped, any of them replaced. */
import { limitNames, limits, type Limits } from '../../src/limits.js';

export function shippedLimits(change: Partial<Limits> = {}): Limits {
  const shipped = Object.fromEntries(limitNames.map((name) => [name, limits[name].value]));
  return { ...(shipped as Limits), ...change };
}
