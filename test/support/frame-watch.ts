/**
 * Holds every frame that a test's plugin gets against the schemas of the protocol. Fields that they do
 * not name count as mismatches too, although plugins must bear them.
 */
import { Ajv, type ValidateFunction } from 'ajv';
import { gatewayFrames } from '../../src/plugins/protocol.js';
import { noteMismatch } from './mismatches.js';

const ajv = new Ajv({ allErrors: true, unicode: false, logger: false, meta: false });
const schemas: Readonly<Record<string, object>> = gatewayFrames;
const validators = new Map<string, ValidateFunction>();

export function watchFrame(frame: { readonly type: string }): void {
  const mismatch = mismatchOfFrame(frame);
  if (mismatch !== undefined) noteMismatch(mismatch);
}

/** @returns what is wrong with the frame, or undefined. */
export function mismatchOfFrame(frame: { readonly type: string }): string | undefined {
  if (!Object.hasOwn(schemas, frame.type)) return `no frame ${frame.type}`;
  const validate = validators.get(frame.type) ?? compile(frame.type);
  const isValid: boolean = validate(frame);
  if (isValid) return undefined;
  return `${ajv.errorsText(validate.errors, { dataVar: frame.type })}: ${JSON.stringify(frame)}`;
}

function compile(type: string): ValidateFunction {
  const validate = ajv.compile({ ...schemas[type], additionalProperties: false });
  validators.set(type, validate);
  return validate;
}
