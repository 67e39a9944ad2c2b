/**
 * GET /api/v1/signals: a user's signal requests, newest first, page by page. The work for a page is bounded,
 * so a page may have fewer requests than asked for, even none, while `next` is set.
 */
import Type from 'typebox';
import type { KeyRights } from '../auth/key-rights.js';
import type { KeyEndpoint } from '../http/endpoint.js';
import type { Clock } from '../lib/clock.js';
import { isRequestId } from '../lib/ids.js';
import { listOf, textOrNull } from '../lib/json-types.js';
import type { Scope } from '../model/scopes.js';
import {
  pageFilters,
  SignalPage,
  type PageFilter,
  type PageQuery,
} from '../signals/signal-page.js';
import type { SignalReader } from '../signals/signal-reader.js';
import { signalSchema } from '../signals/signal-view.js';
import { readInteger, readQuery } from './query.js';
import { SteppedReplies } from './stepped-replies.js';

const scope: Scope = 'signals:read';
export const pageLimits = { min: 1, max: 200, default: 50 } as const;
const defaultFilter: PageFilter = 'all';

const queryRule =
  `The query parameters are status (${pageFilters.join(', ')}), limit (a whole number from ${pageLimits.min} to ` +
  `${pageLimits.max}) and before (a requestId), each at most once.`;

export const signalPageSchema = Type.Object({ signals: listOf(signalSchema), next: textOrNull });

export interface ListSignalsDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly signals: SignalReader;
  readonly rights: KeyRights;
}

export function createListSignals({ clock, signals, rights }: ListSignalsDeps): KeyEndpoint {
  const replies = new SteppedReplies(rights, scope);

  return (exchange, caller) => {
    const query = readPageQuery(exchange.request.query, caller.user.userId);
    if (query === undefined) return exchange.fail('invalid_query', { message: queryRule });
    replies.reply(exchange, caller, new SignalPage(signals, query, clock).steps());
  };
}

/** @returns undefined unless each parameter is known, occurs once and is within its bounds. */
function readPageQuery(text: string, userId: string): PageQuery | undefined {
  const { status, limit, before, unknown } = readQuery(text, ['status', 'limit', 'before']);
  if (unknown.length > 0 || status === null || limit === null || before === null) return undefined;
  const filter = status === undefined ? defaultFilter : pageFilters.find((each) => each === status);
  const count =
    limit === undefined ? pageLimits.default : readInteger(limit, pageLimits.min, pageLimits.max);
  if (filter === undefined || count === undefined) return undefined;
  if (before !== undefined && !isRequestId(before)) return undefined;
  return { userId, filter, limit: count, before };
}
