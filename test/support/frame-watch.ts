/**
 * Holds every frame that a test's plugin gets against the schemas of the protocol. Fields that they do
 * not name count as mismatches too, although plugins must bear them.
 */
import { Ajv } from 'ajv';
import { gatewayFrames } from '../../src/plugins/protocol.js';
import { noteMismatch } from './mismatches.js';

const ajv = new Ajv({ allErrors: true, unicode: false, logger: false });
const validators = new Map(
  Object.entries(gatewayFrames).map(([type, schema]) => [
    type,
    ajv.compile({ ...schema, additionalProperties: false }),
  ]),
);

export function watchFrame(frame: { readonly type: string }): void {
  const mismatch = mismatchOfFrame(frame);
  if (mismatch !== undefined) noteMismatch(mismatch);
}

/** @returns what is wrong with the frame, or undefined. */
export function mismatchOfFrame(frame: { readonly type: string }): string | undefined {
  const validate = validators.get(frame.type);
  if (validate === undefined) return `no frame ${frame.type}`;
  if (validate(frame)) return undefined;
  return `${ajv.errorsText(validate.errors, { dataVar: frame.type })}: ${JSON.stringify(frame)}`;
}
