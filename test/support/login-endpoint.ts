/** The login endpoint without a server: what it answers to an email and a password. */
import { createLogin, type LoginDeps } from '../../src/endpoints/login.js';
import type { Exchange } from '../../src/http/exchange.js';
import type { Gate } from '../../src/http/gate.js';
import { systemClock } from '../../src/lib/clock.js';
import { Deadlines } from '../../src/lib/deadlines.js';
import { noTrail } from '../../src/model/trail-events.js';
import { StorageHealth } from '../../src/store/storage-health.js';
import { shippedLimits } from './shipped-limits.js';

export interface LoginAnswer {
  /** The status of a success, else the code of the refusal. */
  readonly outcome: string;
  readonly body: string;
}

export function loginEndpoint(
  parts: Pick<LoginDeps, 'store' | 'userTokens' | 'hashPool'>,
): (email: string, password: string) => Promise<LoginAnswer> {
  const login = createLogin({
    clock: systemClock,
    deadlines: new Deadlines(systemClock),
    storage: new StorageHealth(systemClock),
    limits: shippedLimits(),
    trail: noTrail,
    gate: { admitLogin: () => true } as unknown as Gate,
    ...parts,
  });
  return (email, password) =>
    new Promise((resolve) => {
      void login({
        head: { isJson: true },
        request: {},
        readBody: (_: number, then: (bytes: Uint8Array) => void) =>
          then(Buffer.from(JSON.stringify({ email, password }))),
        fail: (code: string) => resolve({ outcome: code, body: '' }),
        reply: (status: number, body: string) => resolve({ outcome: `${status}`, body }),
      } as unknown as Exchange);
    });
}
