/** What the contract says of a cancel-all's filter, restated. */
import { isObject, isText, tokensOf, unknownFields } from './signal-model.js';

/** No signal in any input has this instrument. */
export const absentInstrument = 'NONE-OF-THEM';

const fields = ['platform', 'instanceId', 'accountName', 'instrument'];
const platforms = ['terminal_a', 'terminal_b'];

/** @returns violations such as `instrument:invalid_length`, unknown fields last. */
export function filterViolations(filter: unknown): string[] {
  if (!isObject(filter)) return ['$:object_required'];
  const { platform, instanceId, accountName, instrument } = filter;
  const isKnown =
    typeof platform === 'string' && tokensOf(platform).every((token) => platforms.includes(token));
  const rows: [detail: string, isViolated: boolean][] = [
    ['platform:unsupported_platform', platform !== undefined && !isKnown],
    ['instanceId:invalid_length', instanceId !== undefined && !isText(instanceId, 128)],
    ['accountName:invalid_length', accountName !== undefined && !isText(accountName, 128)],
    ['instrument:invalid_length', instrument !== undefined && !isText(instrument, 64)],
  ];
  return [
    ...rows.filter(([, isViolated]) => isViolated).map(([detail]) => detail),
    ...unknownFields(filter, fields),
  ];
}

/** Whether a valid filter matches no order; false if that is uncertain. */
export function isNoOrderMeant(filter: unknown): boolean {
  return (filter as { readonly instrument?: unknown }).instrument === absentInstrument;
}
