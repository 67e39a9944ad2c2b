/**
 * POST /api/v1/signals: the hot path. The order of the checks is the contract's (section 2); the 202 is sent
 * after the flush.
 */
import { hash } from 'node:crypto';
import Type from 'typebox';
import type { KeyOwner } from '../auth/api-key.js';
import type { Brakes } from '../auth/brakes.js';
import type { KeyEndpoint } from '../http/endpoint.js';
import type { Exchange } from '../http/exchange.js';
import type { Gate } from '../http/gate.js';
import { parseJson } from '../http/json-body.js';
import type { Clock } from '../lib/clock.js';
import { isoTime } from '../lib/json-types.js';
import type { Histogram } from '../lib/instruments.js';
import type { Limits } from '../limits.js';
import type { Plan, Plans } from '../plans.js';
import type { Registry } from '../plugins/registry.js';
import type { AccountQuota } from '../quota/account-quota.js';
import type { Acceptance } from '../signals/acceptance.js';
import { platformTokens, type EnvelopeReader } from '../signals/envelope.js';
import type { ExecutionBook } from '../signals/execution-book.js';
import type { Idempotency } from '../signals/idempotency.js';
import { route } from '../signals/routing.js';
import type { RiskLimits } from '../signals/risk-limits.js';
import type { ViolationAdvice } from '../signals/violation-advice.js';
import type { StorageHealth } from '../store/storage-health.js';
import { idempotencyKeyOf, replyIfKnown } from './idempotent-reply.js';
import { failUnstored } from './stored-change.js';

/** The body of the 202. */
export const acceptedSignalSchema = Type.Object({
  requestId: Type.String({ description: 'Names the signal in later calls.' }),
  signalId: Type.String(),
  status: Type.Literal('accepted'),
  acceptedAt: isoTime,
});

export interface SubmitSignalDeps {
  readonly clock: Clock;
  readonly gate: Gate;
  readonly limits: Limits;
  readonly plans: Plans;
  readonly envelopes: EnvelopeReader;
  readonly advise: ViolationAdvice;
  readonly idempotency: Idempotency;
  readonly acceptance: Acceptance;
  readonly brakes: Brakes;
  readonly risks: RiskLimits;
  readonly quota: AccountQuota;
  readonly storage: StorageHealth;
  readonly registry: Pick<Registry, 'active' | 'isConnected'>;
  readonly book: Pick<ExecutionBook, 'roomOf'>;
  /** Time from the read body to the written 202, in seconds. */
  readonly acceptLatency: Histogram;
}

export function createSubmitSignal(deps: SubmitSignalDeps): KeyEndpoint {
  const { clock, gate, limits, plans, envelopes, idempotency, quota, registry } = deps;
  const { acceptance, advise, brakes, risks, storage } = deps;

  function submit(
    exchange: Exchange,
    { user, key: apiKey }: KeyOwner,
    key: string,
    body: Uint8Array,
  ): void {
    const startedAt = clock.monotonic();
    const now = clock.now();
    const { userId } = user;

    const fingerprintOf = (): string => `signal ${hash('sha256', body, 'base64url')}`;
    const known = idempotency.lookUp(userId, key, fingerprintOf, now);
    if (replyIfKnown(exchange, known, locationOf)) return;

    const parsed = parseJson(body, limits.jsonDepthMax, envelopes.outline, 'payload');
    if (parsed === undefined) return exchange.fail('malformed_json');
    if (user.frozen) return exchange.fail('account_frozen');
    if (brakes.isHalted) return exchange.fail('trading_halted');
    const envelope = envelopes.read(parsed.value, now);
    if (Array.isArray(envelope)) {
      const message = advise(envelope, parsed.value, now);
      return exchange.fail('invalid_signal', { details: envelope, message });
    }
    const targets = route(
      platformTokens(envelope.platform),
      envelope.instanceId ?? null,
      envelope.accountName ?? null,
      registry.active(userId),
      Math.min(limits.executionsPerSignal, deps.book.roomOf(userId)),
    );
    const payload = parsed.memberText;
    const risk = risks.judge(apiKey, { envelope, payload, targets });
    if (risk !== undefined) return exchange.fail(risk.code, risk);
    const holder = acceptance.holderOf(userId, envelope.signalId);
    if (holder !== undefined) return exchange.fail('duplicate_signal_id', holder);
    if (storage.refuses()) return failUnstored(exchange);
    const verdict = quota.take(userId, plans[user.plan] as Plan, now);
    if (!verdict.granted) {
      return exchange.fail(verdict.code, { retryAfter: verdict.retryAfterMs / 1000 });
    }

    risks.take(apiKey, envelope);
    acceptance.accept(
      {
        user,
        idempotencyKey: key,
        fingerprint: fingerprintOf(),
        envelope,
        payload,
        targets,
        isConnected: (sourceKey) => registry.isConnected(userId, sourceKey),
        acceptedAt: now,
        trail: exchange.trailOf(apiKey.id),
      },
      (accepted) => {
        if (accepted === 'storage_unavailable') return failUnstored(exchange);
        if (accepted === 'signal_processing_failed') return exchange.fail(accepted);
        exchange.reply(202, accepted.answer, [
          ['Location', locationOf(accepted.request.requestId)],
        ]);
        deps.acceptLatency.observe((clock.monotonic() - startedAt) / 1000);
      },
    );
  }

  return (exchange, caller) => {
    if (!exchange.head.isJson) return exchange.fail('unsupported_media_type');
    const key = idempotencyKeyOf(exchange, limits);
    if (key === undefined) return;
    gate.readBody(exchange, caller, (confirmed, body) => submit(exchange, confirmed, key, body));
  };
}

function locationOf(requestId: string): string {
  return `/api/v1/signals/${requestId}`;
}
