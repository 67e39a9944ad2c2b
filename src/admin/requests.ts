/**
 * The requests of the operations, by name. The server compiles them; a command takes only their types
 * from here, since loading the schemas would cost it more time than its work.
 */
import { listOf, oneOf } from '../lib/json-types.js';
import Type, { type Static, type TSchema } from 'typebox';
import { haltReasonLengthMax } from '../model/records.js';
import { signalFilters, signalListMax } from './signal-filters.js';

const strict = { additionalProperties: false } as const;
const text = Type.String({ maxLength: 4096 });
const email = text;

export const requests = {
  'user.add': Type.Object(
    { email, plan: text, passwordHash: text, confirmed: Type.Boolean() },
    strict,
  ),
  'user.set': Type.Object(
    {
      email,
      plan: Type.Optional(text),
      frozen: Type.Optional(Type.Boolean()),
      confirmed: Type.Optional(Type.Boolean()),
      passwordHash: Type.Optional(text),
    },
    strict,
  ),
  'user.list': Type.Object({}, strict),
  'user.show': Type.Object({ email }, strict),
  'user.cancel-all': Type.Object(
    {
      email,
      filter: Type.Object(
        {
          platform: Type.Optional(text),
          instanceId: Type.Optional(text),
          accountName: Type.Optional(text),
          instrument: Type.Optional(text),
        },
        strict,
      ),
    },
    strict,
  ),
  'user.delete': Type.Object({ email }, strict),
  'user.export': Type.Object({ email, freeze: Type.Boolean() }, strict),
  'user.import': Type.Object(
    { userId: text, email, plan: text, keyIds: listOf(Type.Integer({ minimum: 1 })) },
    strict,
  ),
  'user.discard': Type.Object({ userId: text, email }, strict),
  'session.list': Type.Object({ email }, strict),
  'session.revoke': Type.Object({ email }, strict),
  'key.add': Type.Object(
    {
      email,
      name: text,
      scopes: Type.Array(text),
      expiresAt: Type.Optional(text),
      limits: Type.Optional(Type.Unsafe<unknown>({})),
    },
    strict,
  ),
  'key.list': Type.Object({ email }, strict),
  'key.revoke': Type.Object({ id: Type.Integer({ minimum: 0 }) }, strict),
  'api.set': Type.Object({ enabled: Type.Boolean() }, strict),
  'signal.list': Type.Object(
    {
      email: Type.Optional(email),
      status: Type.Optional(oneOf(signalFilters)),
      limit: Type.Integer({ minimum: 1, maximum: signalListMax }),
    },
    strict,
  ),
  'signal.show': Type.Object({ requestId: text }, strict),
  'trading.halt': Type.Object(
    { reason: Type.Optional(Type.String({ maxLength: haltReasonLengthMax })) },
    strict,
  ),
  'trading.resume': Type.Object({}, strict),
  'store.copy': Type.Object({}, strict),
} as const satisfies Record<string, TSchema>;

export type OperationName = keyof typeof requests;
export type RequestOf<N extends OperationName> = Static<(typeof requests)[N]>;
