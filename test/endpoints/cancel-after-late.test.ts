/** A dead-man's switch whose commit hangs. */
import t from 'tap';
import type { KeyOwner } from '../../src/auth/api-key.js';
import { createSetCancelAfter } from '../../src/endpoints/cancel-after.js';
import type { Failure } from '../../src/http/error-body.js';
import type { Exchange } from '../../src/http/exchange.js';
import type { Gate } from '../../src/http/gate.js';
import { commitAnswerMs } from '../../src/store/storage-health.js';
import { SimulatedGateway, user } from '../support/simulated-gateway.js';

const caller = { user, key: { id: 1 } } as KeyOwner;

t.test('the answer says what to do, without the Idempotency-Key that it has not', (t) => {
  const gateway = new SimulatedGateway();
  const { limits, health, clock, core } = gateway;
  const set = createSetCancelAfter({
    gate: {
      readBody: (_: unknown, by: KeyOwner, then: (by: KeyOwner, body: Uint8Array) => void) =>
        then(by, Buffer.from('{"timeoutMs":30000}')),
    } as unknown as Gate,
    ...{ limits, storage: health, cancelAfter: core.cancelAfter },
  });
  const failures: [string, Failure | undefined][] = [];
  const exchange = {
    head: { isJson: true },
    fail: (code: string, failure?: Failure) => failures.push([code, failure]),
  };
  gateway.memory.hang();
  void set(exchange as unknown as Exchange, caller);
  clock.advance(commitAnswerMs);
  t.match(failures, [['signal_processing_failed', { message: /may be in force.* again/ }]]);
  t.notMatch(failures[0]?.[1]?.message, /Idempotency-Key/);
  t.end();
});
