import t from 'tap';
import { dayMs } from '../../src/lib/durations.js';
import { refusal } from '../support/fake-api.js';
import { startScriptedClient } from './scripted-client.js';

const scripted = await startScriptedClient(t);
const { api, clock, pauses } = scripted;

t.beforeEach(() => {
  pauses.length = 0;
  scripted.onPause = (delayMs) => clock.advance(delayMs);
});

const accepted = {
  status: 202,
  body: {
    cancelAllId: 'cal_1',
    requestedAt: '2026-01-31T12:00:00.000Z',
    matched: 1,
    truncated: false,
    orders: [
      {
        orderRef: 'ord_1',
        executionId: 'exe_1',
        requestId: 'req_1',
        outcome: 'requested',
        cancelRequestId: 'can_1',
      },
    ],
  },
};

t.test('it is repeated with the same key and bytes until it is accepted', async (t) => {
  api.play('silent', refusal(500, 'signal_processing_failed'), accepted);
  const result = await scripted
    .client()
    .cancelAll({ accountName: 'Sim101' }, { idempotencyKey: 'key-1' });
  const value = { ...accepted.body, idempotencyKey: 'key-1', replayed: false };
  t.strictSame(result, { ok: true, value });
  t.equal(api.seen.length, 3);
  for (const { method, path, headers, body } of api.seen) {
    t.match({ method, path }, { method: 'POST', path: '/api/v1/orders/cancel-all' });
    t.equal(headers['idempotency-key'], 'key-1');
    t.equal(String(body), '{"accountName":"Sim101"}');
  }
});

t.test('a filter that is refused is not sent again', async (t) => {
  api.play(refusal(422, 'invalid_filter'));
  t.match(await scripted.client().cancelAll({ platform: 'x' }), {
    ok: false,
    error: { kind: 'refused', code: 'invalid_filter' },
  });
  t.equal(api.seen.length, 1);
});

t.test('what is undefined is not taken for all', async (t) => {
  const filter = { accountName: 'Sim101', instrument: undefined };
  await t.rejects(scripted.client().cancelAll(filter as object), {
    name: 'TypeError',
    message: 'instrument must not be undefined: JSON leaves it out, which may mean all.',
  });
});

t.test('it is not resumed when the gateway may have forgotten its key', async (t) => {
  const client = scripted.client();
  const prepared = client.prepareCancelAll();
  clock.advance(dayMs - 1);
  api.play(accepted);
  t.match(await client.sendCancelAll(prepared, { resumed: true }), { ok: true });
  clock.advance(1);
  api.play(accepted);
  t.match(await client.sendCancelAll(prepared, { resumed: true }), {
    ok: false,
    error: { kind: 'unknown', message: /nothing was sent/ },
  });
  t.match(await client.sendCancelAll(prepared), { ok: true }, 'it was never sent');
});

t.test('a switch renews itself until it is stopped', async (t) => {
  const state = { armed: true, timeoutMs: 30_000, firesAt: null, lastFiredAt: null };
  const answer = { status: 200, body: state };
  api.play(answer, answer, refusal(503, 'shutting_down'), answer, answer, {
    status: 200,
    body: { ...state, armed: false, timeoutMs: 0 },
  });
  let renewals = 0;
  const result = await new Promise((resolve) => {
    const kept = scripted.client().cancelAfter(30_000, {
      onRenewed: ({ ok }) => {
        t.ok(ok);
        if (++renewals < 4) return;
        // From here on no pause passes, so that no further renewal comes.
        scripted.onPause = () => undefined;
        resolve(kept.stop({ disarm: true }));
      },
    });
  });
  t.match(result, { ok: true, value: { armed: false } });
  t.same(
    api.seen.map(({ method, path, body }) => `${method} ${path} ${String(body)}`),
    [
      ...Array.from({ length: 5 }, () => 'PUT /api/v1/cancel-after {"timeoutMs":30000}'),
      'PUT /api/v1/cancel-after {"timeoutMs":0}',
    ],
  );
  t.same(pauses.slice(0, 1), [10_000], 'three times within its timeout');
});

t.test('a switch with a time-out that no gateway takes is refused at once', async (t) => {
  for (const timeoutMs of [30, 0, -1, NaN, Infinity, 100_000 / 3]) {
    t.throws(() => scripted.client().cancelAfter(timeoutMs), TypeError);
  }
});

t.test('nothing is sent behind the call that disarms a switch', async (t) => {
  const state = { armed: true, timeoutMs: 30_000, firesAt: null, lastFiredAt: null };
  const armed = { status: 200, body: state };
  const disarmed = { status: 200, body: { ...state, armed: false, timeoutMs: 0 } };
  api.play(armed, refusal(503, 'shutting_down'), armed, disarmed);
  const kept = scripted.client().cancelAfter(30_000);
  const result = await new Promise((resolve) => {
    scripted.onPause = (delayMs) => {
      // The switch is disarmed while the refused renewal waits for its retry.
      if (api.seen.length === 2) resolve(kept.stop({ disarm: true }));
      clock.advance(delayMs);
    };
  });
  t.match(result, { ok: true, value: { armed: false } });
  t.same(
    api.seen.map(({ body }) => String(body)),
    [...Array.from({ length: 3 }, () => '{"timeoutMs":30000}'), '{"timeoutMs":0}'],
  );
});

const armed = {
  status: 200,
  body: { armed: true, timeoutMs: 30_000, firesAt: null, lastFiredAt: null },
};

t.test('a switch that may have been set is unknown, also after a later refusal', async (t) => {
  api.play('silent', refusal(403, 'insufficient_scope'));
  const kept = scripted.client().cancelAfter(30_000);
  t.match(await kept.armed, { ok: false, error: { kind: 'unknown', code: 'insufficient_scope' } });
  api.play('silent', refusal(422, 'invalid_timeout'));
  t.match(await kept.stop({ disarm: true }), {
    ok: false,
    error: { kind: 'refused', code: 'invalid_timeout' },
  });
});

t.test('a renewal that nobody answers leaves time for the next two', async (t) => {
  const timeoutMs = 15_000;
  const { onSilence } = api;
  t.teardown(() => (api.onSilence = onSilence));
  api.onSilence = () => clock.advance(timeoutMs / 3);
  // The clock takes this time-out for a pause, as it is a whole number: here only `onSilence` lets time pass.
  scripted.onPause = () => undefined;
  api.play('silent', armed);
  const kept = scripted.client().cancelAfter(timeoutMs);
  t.match(await kept.armed, { ok: false, error: { kind: 'unknown' } });
  t.equal(scripted.pauses.at(-1), 0, 'the next one is due');
  t.match(await kept.stop({ disarm: true }), { ok: true });
});
