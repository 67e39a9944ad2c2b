/** Defines endpoints: functions of the exchange and, by the route's credential, of the authenticated caller. */
import type { KeyOwner } from '../auth/api-key.js';
import type { Operation, routes } from '../routes.js';
import type { User } from '../model/records.js';
import type { Exchange } from './exchange.js';

type Work = void | Promise<void>;
export type OpenEndpoint = (exchange: Exchange) => Work;
export type UserEndpoint = (exchange: Exchange, user: User) => Work;
export type KeyEndpoint = (exchange: Exchange, caller: KeyOwner) => Work;

interface EndpointFor {
  none: OpenEndpoint;
  'user-token': UserEndpoint;
  'api-key': KeyEndpoint;
}

type CredentialOf<O extends Operation> = Extract<
  (typeof routes)[number],
  { operation: O }
>['credential'];

/** One endpoint per operation; its type follows from the credential of the route. */
export type Endpoints = { readonly [O in Operation]: EndpointFor[CredentialOf<O>] };
