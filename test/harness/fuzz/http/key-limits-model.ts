/** What the contract says of a key's limits, restated. */
import { isIP } from 'node:net';
import { isObject, isText } from './signal-model.js';

const rules: Readonly<Record<string, (value: unknown) => boolean>> = {
  allowedIps: (value) => isList(value, 16) && value.every(isAddress),
  allowedInstruments: (value) => isList(value, 64) && value.every((each) => isText(each, 128)),
  maxOrderQuantity: (value) => Number.isFinite(value) && Number(value) > 0,
  maxOpenOrders: (value) => Number.isSafeInteger(value) && Number(value) >= 1,
  maxOrdersPerSecond: (value) =>
    Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 1_000,
};

export function keyLimitsVerdict(limits: unknown): 'valid' | 'invalid' {
  if (limits === undefined || limits === null) return 'valid';
  const isValid =
    isObject(limits) &&
    Object.entries(limits).every(
      ([name, value]) => Object.hasOwn(rules, name) && rules[name]?.(value) === true,
    );
  return isValid ? 'valid' : 'invalid';
}

function isList(value: unknown, lengthMax: number): value is readonly unknown[] {
  return Array.isArray(value) && value.length >= 1 && value.length <= lengthMax;
}

/** An address, or one with the length of its prefix. */
function isAddress(value: unknown): boolean {
  const [, address = '', prefix] =
    /^([^/%]*)(?:\/(\d{1,3}))?$/.exec(typeof value === 'string' ? value : '') ?? [];
  const bits = isIP(address) === 4 ? 32 : 128;
  return isIP(address) !== 0 && Number(prefix ?? 0) <= bits;
}
