/** Which fields of the operator's requests the log may show; a new field has to be judged here. */
import type { OperationName, RequestOf } from './requests.js';

type Fields<Request> = Request extends unknown ? keyof Request : never;
type Field = Fields<RequestOf<OperationName>>;

const isShown: Readonly<Record<Field, boolean>> = {
  confirmed: true,
  email: true,
  filter: true,
  enabled: true,
  expiresAt: true,
  freeze: true,
  frozen: true,
  id: true,
  keyIds: false,
  limit: true,
  limits: true,
  name: true,
  passwordHash: false,
  plan: true,
  reason: true,
  requestId: true,
  scopes: true,
  status: true,
  userId: true,
};

export function shownFields(request: object): object {
  return Object.fromEntries(Object.entries(request).filter(([name]) => isShown[name as Field]));
}
