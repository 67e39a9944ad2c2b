/** Reads fields of untrusted JSON; a missing or invalid one is undefined. */
import { isObject } from '../lib/is-object.js';

export function field(json: unknown, name: string): unknown {
  return isObject(json) ? json[name] : undefined;
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
