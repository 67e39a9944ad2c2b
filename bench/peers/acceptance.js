/**
 * The peer's acceptance: which terminals a signal goes to, and its rows in one transaction that is on
 * disk when `accept` returns. The list of terminals is in memory, as it is in the gateway.
 */
import { monotonicFactory } from 'ulid';
import { tokensOf } from './signal-envelope.js';

const idempotencyRetentionMs = 86_400_000;
const noSources = [];

export function createAcceptance(store) {
  const nextUlid = monotonicFactory();
  const sourcesOfUser = new Map();
  for (const source of store.sources()) {
    const known = sourcesOfUser.get(source.userId);
    if (known === undefined) sourcesOfUser.set(source.userId, [source]);
    else known.push(source);
  }

  function targetsOf(userId, { platform, instanceId }) {
    const sources = sourcesOfUser.get(userId) ?? noSources;
    return tokensOf(platform).flatMap((token) => {
      const matching = sources.filter(
        (source) =>
          source.platform === token &&
          (instanceId === undefined || source.instanceId === instanceId),
      );
      return matching.length > 0
        ? matching
        : [{ platform: token, instanceId: instanceId ?? null, accountName: null }];
    });
  }

  return function accept({ userId, envelope, idempotencyKey, fingerprint, signalsToday }) {
    const acceptedAt = Date.now();
    const ulid = nextUlid(acceptedAt);
    const requestId = `req_${ulid}`;
    const { signalId, ts, ttlMs, platform, type, cmd, payload } = envelope;
    const isOrder = type === 'order' && cmd === 'submit';
    const text = (value) => (isOrder && typeof value === 'string' ? value : null);
    const number = (value) => (isOrder && Number.isFinite(value) ? value : null);
    const executions = targetsOf(userId, envelope).map((target, index) => ({
      userId,
      executionId: `exe_${ulid}_${index}`,
      platform: target.platform,
      instanceId: target.instanceId,
      accountName: target.accountName,
      status: target.accountName === null ? 'denied' : 'queued',
      reasonCode: target.accountName === null ? 'no_active_terminal' : null,
      orderRef: isOrder ? `ord_${ulid}_${index}` : null,
      side: text(payload.side),
      executionType: text(payload.executionType),
      instrument: text(payload.instrument),
      quantity: number(payload.quantity),
      limitPrice: number(payload.limitPrice),
      filledQuantity: isOrder ? 0 : null,
      remainingQuantity: number(payload.quantity),
      createdAt: acceptedAt,
      updatedAt: acceptedAt,
    }));
    const answer = JSON.stringify({
      requestId,
      signalId,
      status: 'accepted',
      acceptedAt: new Date(acceptedAt).toISOString(),
    });
    store.accept({
      request: {
        userId,
        requestId,
        signalId,
        acceptedAt,
        ts,
        expiresAt: ts + ttlMs,
        platform,
        type,
        cmd,
        instanceId: envelope.instanceId ?? null,
        payload: JSON.stringify(payload),
        idempotencyKey,
        signalsToday,
      },
      executions,
      fingerprint,
      answer,
      idempotencyUntil: acceptedAt + idempotencyRetentionMs,
    });
    return { requestId, answer };
  };
}
