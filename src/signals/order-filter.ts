/** Defines which of a user's orders a cancel of all orders covers, and validates a bot's filter. */
import Type, { type Static } from 'typebox';
import type { FieldError } from '../errors.js';
import { isObject } from '../lib/is-object.js';
import { Outline } from '../lib/json-outline.js';
import { unknownFields } from '../lib/unknown-fields.js';
import type { Execution } from '../model/execution.js';
import { sourceNameLengthMax } from '../model/source-name.js';
import { copiedTextLengthMax } from './accepted-signal.js';
import { arePlatforms, isText, platformTokens } from './envelope.js';

/** Whatever the limits of a signal or of a stream's parameters are: every order must be nameable, to be cancelled. */
const lengths = {
  instanceId: sourceNameLengthMax,
  accountName: sourceNameLengthMax,
  instrument: copiedTextLengthMax,
} as const;

const name = (maxLength: number) => Type.Optional(Type.String({ minLength: 1, maxLength }));

export const orderFilterSchema = Type.Object(
  {
    /** One or more tokens, separated by commas. */
    platform: Type.Optional(Type.String({ minLength: 1 })),
    instanceId: name(lengths.instanceId),
    accountName: name(lengths.accountName),
    instrument: name(lengths.instrument),
  },
  { additionalProperties: false },
);

/** What an `OrderFilterReader` looks at. */
export const orderFilterOutline = new Outline(Object.keys(orderFilterSchema.properties), 1);

export type OrderFilter = Static<typeof orderFilterSchema>;

export interface OrderFilterReader {
  /** @returns the filter, or every violated rule, unknown fields last. */
  read(body: unknown): OrderFilter | FieldError[];
}

export function createOrderFilterReader(knownPlatforms: ReadonlySet<string>): OrderFilterReader {
  return {
    read(body) {
      if (!isObject(body)) return [{ field: '$', code: 'object_required' }];
      const violations: FieldError[] = [];
      const { platform } = body;
      // A token that is misspelt would match no order, and seem to have cancelled all.
      if (platform !== undefined && !isKnown(platform)) {
        violations.push({ field: 'platform', code: 'unsupported_platform' });
      }
      for (const [field, lengthMax] of Object.entries(lengths)) {
        const value = body[field];
        if (value !== undefined && !isText(value, lengthMax)) {
          violations.push({ field, code: 'invalid_length' });
        }
      }
      violations.push(...unknownFields(body, orderFilterSchema));
      return violations.length > 0 ? violations : body;
    },
  };

  function isKnown(platform: unknown): boolean {
    return typeof platform === 'string' && arePlatforms(platform, knownPlatforms);
  }
}

/** An order whose instrument is not known matches no instrument. */
export function matches(filter: OrderFilter, execution: Execution): boolean {
  const { platform, instanceId, accountName, instrument } = filter;
  return (
    (platform === undefined || platformTokens(platform).includes(execution.platform)) &&
    (instanceId === undefined || instanceId === execution.instanceId) &&
    (accountName === undefined || accountName === execution.accountName) &&
    (instrument === undefined || instrument === execution.instrument)
  );
}
