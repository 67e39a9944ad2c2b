/** Joins what bots, terminals and the operator were told with the moments at which it left the gateway. */
import type { Answer } from '../../support/api.js';
import type { Observation } from '../crash/observation.js';
import type { Operation } from '../crash/operation.js';
import type { Verdict } from '../verdict.js';
import type { Change } from './commands.js';
import { frameName, type Departures } from './departures.js';
import type { ChangeFact, Facts, LoginFact, TerminalFact } from './facts.js';
import type { RecordedTrader } from './recorded-trader.js';

export interface Told {
  readonly traders: readonly RecordedTrader[];
  readonly terminals: readonly TerminalFact[];
  readonly operations: readonly Operation[];
  readonly observations: readonly Observation[];
  readonly changes: readonly Change[];
}

export function collectFacts(told: Told, departures: Departures, verdict: Verdict): Facts {
  const { traders, terminals, operations, observations } = told;
  /** What arrived although the recording does not show that it left: the recording has gaps. */
  const missed: unknown[] = [];
  const momentOf = (at: number | undefined, what: unknown): number => {
    if (at === undefined || at === Infinity) missed.push(what);
    return at ?? Infinity;
  };
  const leftAt = (answer: Answer): number =>
    momentOf(departures.answers.get(answer.headers.get('x-trace-id') ?? ''), answer.text);
  const answers = traders.flatMap(({ email, told }) =>
    told.map(({ answer, operation }) => ({
      at: leftAt(answer),
      user: email,
      answer,
      operation,
    })),
  );
  const changes: ChangeFact[] = told.changes.map(({ command, ...change }) => ({
    ...change,
    at: momentOf(departures.results[command], change),
  }));
  const logins: LoginFact[] = [];
  for (const { email, entered } of traders) {
    if (entered === undefined) continue;
    const { login, made } = entered;
    const { token, sessionToken } = login.body as LoginFact;
    logins.push({ at: leftAt(login), user: email, token, sessionToken });
    changes.push({ at: leftAt(made), subject: 'key', name: `${made.body.id}`, value: 'valid' });
  }
  const connections = new Map<string, string>();
  const seen = observations.map((each) => {
    const connection = `${each.terminal} ${each.connection}`;
    if (each.kind === 'welcome') connections.set(connection, each.connectionId);
    const frame = frameOf(each);
    if (frame === undefined) return { at: null, seen: each };
    const name = frameName(connections.get(connection) ?? '', ...frame);
    return { at: momentOf(departures.frames.get(name), each), seen: each };
  });
  verdict.hold('the recording holds all that was said', missed.length === 0, () => missed);
  return {
    users: Object.fromEntries(traders.map(({ email, key }) => [email, key])),
    terminals,
    logins,
    answers: answers.flatMap(({ at, user, answer, operation }) =>
      operation === undefined ? [] : [{ ...operation.name, at, user, text: answer.text }],
    ),
    views: answers.flatMap(({ at, user, answer, operation }) =>
      operation === undefined ? [{ at, user, view: answer.body }] : [],
    ),
    changes,
    observations: seen,
    sent: Object.fromEntries(
      traders.map(({ email }) => [
        email,
        operations
          .filter(({ name }) => name.user === email && name.kind === 'signal')
          .map(({ name }) => name.subject),
      ]),
    ),
  };
}

/** @returns type and subject of the gateway's frame that the terminal saw; undefined for its own frames. */
function frameOf(seen: Observation): readonly [string, string | number] | undefined {
  switch (seen.kind) {
    case 'acked':
      return ['ack', seen.seq];
    case 'submit':
      return ['submit', seen.executionId];
    case 'cancel':
      return ['cancel', seen.cancelRequestId];
    default:
      return undefined;
  }
}
