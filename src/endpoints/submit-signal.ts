/**
 * POST /api/v1/signals: the hot path. The order of the checks is the contract's (section 2); the 202 is sent
 * after the flush.
 */
import { hash } from 'node:crypto';
import Type from 'typebox';
import type { KeyEndpoint } from '../http/endpoint.js';
import type { Exchange } from '../http/exchange.js';
import type { Gate } from '../http/gate.js';
import { parseJson } from '../http/json-body.js';
import type { Clock } from '../lib/clock.js';
import { isoTime, oneOf } from '../lib/json-types.js';
import type { Histogram } from '../lib/instruments.js';
import type { Limits } from '../limits.js';
import type { Plan, Plans } from '../plans.js';
import type { AccountQuota } from '../quota/account-quota.js';
import type { Acceptance } from '../signals/acceptance.js';
import { platformTokens, type EnvelopeReader } from '../signals/envelope.js';
import { readIdempotencyKey, type Idempotency } from '../signals/idempotency.js';
import { targetKey } from '../model/source-name.js';
import { route, type ActiveSource } from '../signals/routing.js';
import type { User } from '../model/records.js';
import { replyIfKnown } from './idempotent-reply.js';

/** The body of the 202. */
export const acceptedSignalSchema = Type.Object({
  requestId: Type.String(),
  signalId: Type.String(),
  status: oneOf(['accepted']),
  acceptedAt: isoTime,
});

/** What routing needs of the registry. */
export interface Terminals {
  active(userId: string): readonly ActiveSource[];
  isConnected(userId: string, sourceKey: string): boolean;
}

export interface SubmitSignalDeps {
  readonly clock: Clock;
  readonly gate: Gate;
  readonly limits: Limits;
  readonly plans: Plans;
  readonly envelopes: EnvelopeReader;
  readonly idempotency: Idempotency;
  readonly acceptance: Acceptance;
  readonly quota: AccountQuota;
  readonly terminals: Terminals;
  /** Time from the read body to the written 202, in seconds. */
  readonly acceptLatency: Histogram;
}

export function createSubmitSignal(deps: SubmitSignalDeps): KeyEndpoint {
  const { clock, gate, limits, plans, envelopes, idempotency, acceptance, quota, terminals } = deps;

  function submit(exchange: Exchange, user: User, key: string, body: Uint8Array): void {
    const startedAt = clock.monotonic();
    const now = clock.now();
    const { userId } = user;

    const fingerprint = `signal ${hash('sha256', body, 'base64url')}`;
    const known = idempotency.lookUp(userId, key, fingerprint, now);
    if (replyIfKnown(exchange, known, locationOf)) return;

    const parsed = parseJson(body, limits.jsonDepthMax, 'payload');
    if (parsed === undefined) return exchange.fail('malformed_json');
    if (user.frozen) return exchange.fail('account_frozen');
    const envelope = envelopes.read(parsed.value, now);
    if (Array.isArray(envelope)) return exchange.fail('invalid_signal', { details: envelope });
    if (acceptance.isSignalIdTaken(userId, envelope.signalId)) {
      return exchange.fail('duplicate_signal_id');
    }
    const verdict = quota.take(userId, plans[user.plan] as Plan);
    if (!verdict.granted) {
      return exchange.fail(verdict.code, { retryAfter: verdict.retryAfterMs / 1000 });
    }

    const { start, end } = parsed.scan;
    acceptance.accept(
      {
        user,
        idempotencyKey: key,
        fingerprint,
        envelope,
        payload: Buffer.from(body.buffer, body.byteOffset + start, end - start)
          .toString()
          .trim(),
        targets: route(
          platformTokens(envelope.platform),
          envelope.instanceId ?? null,
          terminals.active(userId),
        ),
        isConnected: (target) => {
          const targeted = targetKey(target);
          return targeted !== undefined && terminals.isConnected(userId, targeted);
        },
        signalsToday: verdict.signalsToday,
      },
      (accepted) => {
        if (accepted === undefined) return exchange.fail('signal_processing_failed');
        exchange.reply(202, accepted.answer, [
          ['Location', locationOf(accepted.request.requestId)],
        ]);
        deps.acceptLatency.observe((clock.monotonic() - startedAt) / 1000);
      },
    );
  }

  return (exchange, caller) => {
    const { head } = exchange;
    if (!head.isJson) return exchange.fail('unsupported_media_type');
    const key = readIdempotencyKey(
      head.idempotencyKey,
      head.idempotencyKeyCount,
      limits.idempotencyKeyLengthMax,
    );
    if (key === undefined) return exchange.fail('invalid_idempotency_key');
    exchange.readBody(limits.bodyBytesMax, (body) => {
      const confirmed = gate.confirm(exchange, caller);
      if (confirmed !== undefined) submit(exchange, confirmed.user, key, body);
    });
  };
}

function locationOf(requestId: string): string {
  return `/api/v1/signals/${requestId}`;
}
