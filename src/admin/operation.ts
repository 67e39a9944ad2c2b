/**
 * An operation of the operator turns a request, checked by its schema, into a result that is plain JSON.
 * It runs in the process that owns the store: the gateway, or a command where none runs.
 */
import { setTimeout as rest } from 'node:timers/promises';
import type { FieldError } from '../errors.js';
import type { Clock } from '../lib/clock.js';
import type { IdSource } from '../lib/ids.js';
import type { TrailLog } from '../model/trail-events.js';
import type { Settings } from '../settings.js';
import type { CancelAllOrder } from '../signals/cancel-judge.js';
import type { CancelAllResult } from '../signals/cancelled-orders.js';
import type { Store } from '../store/store.js';
import type { OperationName, RequestOf } from './requests.js';

export interface OperationContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly settings: Pick<Settings, 'dataDir' | 'plans' | 'platforms' | 'limits'>;
  readonly effects: Effects;
  readonly trail: TrailLog;
  /** Users whose import, or its discard, this process is carrying out. */
  readonly importing: Set<string>;
  /** Ends of stops that are under way; a new stop of the same user, or a new halt, takes them out. */
  readonly ending: Set<StopEnd>;
}

/** The end of a user's freeze or move, or of the halt. */
export interface StopEnd {
  /** Commands name a user by the email, which may be another user's later; undefined for the halt. */
  readonly emailKey: string | undefined;
}

/** What a running gateway does once a change is committed; without a gateway there is nothing to do. */
export interface Effects {
  /** Applies the user's new state to its connections, streams and open executions. */
  userChanged(userId: string): void;
  /** Resolves when what the switch no longer allows has ended. */
  publicApiChanged(): Promise<void>;
  /**
   * Denies executions that were accepted and not sent, if a freeze, a halt or a revoked key covers them; of one
   * user or of all. Resolves when the denials are on disk, or the disk refuses them.
   */
  endUnsent(userId?: string): Promise<void>;
  /** Loads the open executions of a user that is being imported. */
  adoptUser(userId: string): Promise<void>;
  /** Cancels the open orders of a user. Rejects when the commit fails. */
  cancelOrders(order: CancelAllOrder): Promise<CancelAllResult>;
  /**
   * Resolves when every write that was begun before the call is on disk, and every change of a cancel of all
   * orders. Rejects while the disk refuses them.
   */
  settled(): Promise<void>;
}

export const noEffects: Effects = {
  userChanged: () => undefined,
  publicApiChanged: () => Promise.resolve(),
  endUnsent: () => Promise.resolve(),
  adoptUser: () => Promise.resolve(),
  cancelOrders: () => Promise.reject(new Error('nothing here holds orders')),
  settled: () => Promise.resolve(),
};

/** Rows between an operation and its command, in both directions, beside the request and the result. */
export interface Rows {
  /** Resolves when the command can take more; false once it is gone. */
  readonly send: (row: unknown) => Promise<boolean>;
  /** `end` after the command's last row; `lost` when the command went before that. */
  readonly next: () => Promise<{ readonly row: unknown } | 'end' | 'lost'>;
}

/** Outcomes that are expected, by their codes, with the values that their sentences need. */
export interface Refusals {
  user_not_found: { readonly email: string };
  invalid_email: { readonly email: string };
  email_taken: { readonly email: string };
  unknown_plan: { readonly plan: string; readonly known: readonly string[] };
  /** The filter has a platform that does not exist, or a name that is empty or too long. */
  invalid_filter: { readonly field: string };
  key_not_found: { readonly id: number };
  signal_not_found: { readonly requestId: string };
  /** A halt, or a freeze or move of the same user, was asked for while an earlier one was being ended. */
  stopped_again: object;
  invalid_name: object;
  invalid_scopes: object;
  invalid_expiration: object;
  invalid_limits: { readonly errors: readonly FieldError[] };
  active_key_limit_reached: object;
  user_exists: { readonly email: string };
  /** An import of the same user, or the discard of one, is under way. */
  import_under_way: { readonly email: string };
  leftovers: { readonly email: string };
  nothing_to_discard: { readonly email: string };
  /** The user is being moved: cancels that wait for its terminals would be lost with the move. */
  user_moving: { readonly email: string };
  /** During the export a suspended user was resumed or deleted, its orders were cancelled or its keys changed. */
  user_changed: { readonly email: string };
  /** The rows of an import are not all of its user. */
  foreign_row: { readonly email: string };
  /** The command ended before it had sent or received every row. */
  command_gone: { readonly email: string };
  copy_refused: { readonly code: string; readonly reason: string };
}

export type Refusal = {
  [C in keyof Refusals]: { readonly refused: C } & Refusals[C];
}[keyof Refusals];

type Answer = Refusal | (object & { readonly refused?: never });

export type Operation<Request> = {
  /** Checked before anything is made or opened. */
  readonly refuse?: (
    settings: OperationContext['settings'],
    request: Request,
  ) => Refusal | undefined;
} & (
  | {
      readonly hasRows?: never;
      readonly run: (context: OperationContext, request: Request) => Answer | Promise<Answer>;
    }
  | {
      /** It waits for its command, which may be stopped, or read slowly. */
      readonly hasRows: true;
      readonly run: (
        context: OperationContext,
        request: Request,
        rows: Rows,
      ) => Answer | Promise<Answer>;
    }
);

/** Each file of operations has some of them. */
export type Operations = { readonly [N in OperationName]: Operation<RequestOf<N>> };

/** Ends the turn, and with it the store's snapshot, so that a long operation does not block the loop. */
export const pause = (): Promise<void> => rest(0);
