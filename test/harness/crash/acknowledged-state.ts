/**
 * A snapshot of what the gateway has acknowledged: accepted operations with their answers, and every
 * status as last read. A gateway started on a copy of that moment or of a later one must give the
 * same answers, and statuses that may follow.
 */
import { bearer, call, json } from '../../support/api.js';
import type { Verdict } from '../verdict.js';
import { History, type RequestView } from './request-history.js';
import type { AcceptedRequest, Ledger } from './ledger.js';
import type { Operation } from './operation.js';
import type { Trader } from './trader.js';

interface KnownRequest {
  readonly request: AcceptedRequest;
  readonly view: RequestView | undefined;
}

interface KnownAnswer {
  readonly operation: Operation;
  readonly text: string;
}

export class AcknowledgedState {
  readonly requests: readonly KnownRequest[];
  readonly answers: readonly KnownAnswer[];

  /**
   * `newestMax`: how many of the newest of each are kept; older ones were checked in earlier rounds.
   */
  constructor(
    { requests, operations }: Pick<Ledger, 'requests' | 'operations'>,
    newestMax = Infinity,
  ) {
    this.requests = [...requests.values()]
      .slice(-newestMax)
      .map((request) => ({ request, view: request.history.last }));
    this.answers = operations
      .slice(-newestMax)
      .flatMap((operation) =>
        operation.accepted === undefined ? [] : [{ operation, text: operation.accepted }],
      );
  }

  /** Retries every operation and reads every request. */
  async inspect(
    url: string,
    traders: ReadonlyMap<string, Trader>,
    verdict: Verdict,
  ): Promise<void> {
    const keyOf = (user: string): string => traders.get(user)?.key ?? '';
    for (const { operation, text } of this.answers) {
      const { user, key, path, body } = operation.name;
      const answer = await call(url, 'POST', path, {
        headers: {
          ...bearer(keyOf(user)),
          'idempotency-key': key,
          ...(body === '' ? {} : json),
        },
        ...(body === '' ? {} : { body }),
      });
      const isSame = answer.text === text && answer.headers.get('idempotent-replayed') === 'true';
      verdict.hold('a copy replays a 202 byte for byte', isSame, () => ({
        text,
        now: answer.text,
      }));
    }
    for (const { request, view } of this.requests) {
      const answer = await call(url, 'GET', `/api/v1/signals/${request.requestId}`, {
        headers: bearer(keyOf(request.user)),
      });
      verdict.hold('an accepted signal is in the copy', answer.status === 200, () => request);
      if (view === undefined || answer.status !== 200) continue;
      const history = new History();
      history.note(view, 0, 1, verdict);
      history.note(answer.body as RequestView, 2, 3, verdict);
    }
  }
}
