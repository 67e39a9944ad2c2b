/** Starts the real gateway, and the doctor, on a directory that a power cut left, and asks it over HTTP. */
import { bearer, call } from '../../support/api.js';
import { startGateway } from '../../support/gateway-process.js';
import { AcknowledgedState } from '../crash/acknowledged-state.js';
import { CliCommand } from '../crash/cli-command.js';
import { configOf } from '../crash/config.js';
import { checkWithDoctor } from '../crash/doctor-check.js';
import { History } from '../crash/request-history.js';
import { Operation } from '../crash/operation.js';
import { Trader } from '../crash/trader.js';
import type { Ledger } from '../crash/ledger.js';
import type { Verdict } from '../verdict.js';
import type { Facts } from './facts.js';
import { Known } from './known.js';

export async function judgeRealStart(
  dataDir: string,
  at: number,
  facts: Facts,
  ledger: Ledger,
  verdict: Verdict,
): Promise<void> {
  const known = new Known(facts, at);
  const gateway = await startGateway({ dataDir, config: configOf() }).catch((error: unknown) => {
    verdict.hold('a gateway starts with what is left', false, () => error);
  });
  if (gateway === undefined) return;
  try {
    const [key = ''] = Object.values(facts.users);
    const { status } = await call(gateway.url, 'GET', '/api/v1/signals', { headers: bearer(key) });
    if (status === 503) await new CliCommand(dataDir, ['api', 'enable']).ended;
    const traders = new Map(
      Object.entries(facts.users).map(([email, key]) => [email, new Trader(email, key, ledger)]),
    );
    await acknowledged(known).inspect(gateway.url, traders, verdict);
  } finally {
    await gateway.stop();
  }
  await checkWithDoctor(dataDir, verdict, 'the doctor finds it well');
}

function acknowledged(known: Known): AcknowledgedState {
  const operations = known.answers.map(({ text, ...name }) =>
    Object.assign(new Operation({ ...name, subject: '', expiresAt: Infinity }), { accepted: text }),
  );
  const requests = operations.flatMap((operation) => {
    const { kind, user } = operation.name;
    if (kind !== 'signal') return [];
    const { requestId, acceptedAt } = operation.fields;
    const history = Object.assign(new History(), { last: known.views.get(requestId)?.view });
    return [[requestId, { requestId, user, operation, acceptedAt, history }] as const];
  });
  return new AcknowledgedState({ operations, requests: new Map(requests) });
}
