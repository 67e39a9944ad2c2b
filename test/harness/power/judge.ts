/**
 * Judges a world by what was promised before its power cut, with the rules of the crash harness: every
 * answer, report and command is there, once and complete.
 */
import { setTimeout as rest } from 'node:timers/promises';
import { isPublicApiEnabled, findUser } from '../../../src/auth/accounts.js';
import { authenticateSession } from '../../../src/auth/session-token.js';
import { readHalt } from '../../../src/auth/brakes.js';
import { walkStore } from '../../../src/doctor/store-walk.js';
import type { Store } from '../../../src/store/store.js';
import { judge as judgeExecution } from '../crash/consistency-rules.js';
import { History, type ExecutionView, type RequestView } from '../crash/request-history.js';
import type { Verdict } from '../verdict.js';
import type { Facts, SubjectKind } from './facts.js';
import type { Known } from './known.js';
import type { World } from './world.js';

/** Reasons for which the gateway may deny or end executions of a recording. */
const denials = ['no_active_terminal', 'trading_halted', 'cancelled_by_api'];

/** The value of a subject; undefined: its initial value. */
const valueOf: Readonly<Record<SubjectKind, (store: Store, name: string) => string | undefined>> = {
  user: (store, email) => {
    const user = findUser(store, email);
    return user === undefined ? 'gone' : `${user.plan} ${user.frozen}`;
  },
  key: (store, id) => {
    for (const { record } of store.range('apiKeys')) {
      if (record.id === Number(id)) return record.revokedAt === null ? 'valid' : 'revoked';
    }
    return 'gone';
  },
  halt: (store) => `${readHalt(store).halted}`,
  'public api': (store) => `${isPublicApiEnabled(store)}`,
};

const atFirst: Readonly<Record<SubjectKind, string>> = {
  user: 'gone',
  key: 'gone',
  halt: 'false',
  'public api': 'true',
};

export async function judgeWorld(
  world: World,
  facts: Facts,
  known: Known,
  verdict: Verdict,
): Promise<void> {
  const { store } = world;
  const report = await walkStore(store, () => rest(0));
  verdict.hold('nothing is half there', report.damageCount === 0, () => report.damages);
  for (const { kind, name, values } of known.subjects) {
    const value = valueOf[kind](store, name);
    const isInEffect = values.some((each) => (each ?? atFirst[kind]) === value);
    verdict.hold('a command that has ended is in effect', isInEffect, () => ({
      kind,
      name,
      values,
      value,
    }));
  }
  for (const { user, token, sessionToken } of known.logins) {
    const isValid =
      world.userTokens.verify(token) !== undefined &&
      authenticateSession(store, sessionToken, world.now) !== undefined;
    verdict.hold('a login lasts', isValid, () => user);
  }
  judgeAnswers(store, known, verdict);
  judgeSources(store, facts, known, verdict);
  for (const user of Object.keys(facts.users)) judgeRequests(world, facts, known, user, verdict);
}

function judgeAnswers(store: Store, known: Known, verdict: Verdict): void {
  for (const { user, key, text, at, kind } of known.answers) {
    const record = store.get('idempotency', [userIdOf(store, user), key]);
    const isKept = record?.answer === text;
    verdict.hold('a 202 is replayed byte for byte', isKept, () => ({
      kind,
      user,
      key,
      at,
      text,
      record,
    }));
  }
}

/** A plugin continues its numbers after the `lastSeq` that the gateway tells it. */
function judgeSources(store: Store, { terminals }: Facts, known: Known, verdict: Verdict): void {
  for (const { id, user, platform, instanceId, accountName } of terminals) {
    const source = store.get('sources', [userIdOf(store, user), platform, instanceId, accountName]);
    const { acked = 0, said = 0 } = known.numbers.get(id) ?? {};
    const lastSeq = source?.lastSeq ?? 0;
    const evidence = () => ({ id, acked, said, source });
    verdict.hold('lastSeq covers all that was acknowledged', lastSeq >= acked, evidence);
    verdict.hold('lastSeq covers only what was said', lastSeq <= said, evidence);
  }
}

function judgeRequests(
  world: World,
  facts: Facts,
  known: Known,
  user: string,
  verdict: Verdict,
): void {
  const { store, signals } = world;
  const userId = userIdOf(store, user);
  const sent = new Set(facts.sent[user]);
  const promised = new Map(
    facts.answers.flatMap((fact) =>
      fact.kind === 'signal' && fact.user === user
        ? [[(JSON.parse(fact.text) as RequestView).signalId, fact] as const]
        : [],
    ),
  );
  const views = new Map<string, RequestView>();
  for (const requestId of store.keys('requests', { prefix: [userId] }).map(([, id]) => id)) {
    const view = JSON.parse(
      signals.read(userId, requestId)?.json().toString() ?? '{}',
    ) as RequestView;
    views.set(requestId, view);
    const { signalId } = view;
    verdict.hold('only what was sent is there', sent.has(signalId), () => view);
    // A retry after the cut must get the same answer: the store may not hold the signal as another request.
    const answer = promised.get(signalId)?.text;
    const isOne =
      answer === undefined || (JSON.parse(answer) as RequestView).requestId === requestId;
    verdict.hold('a signal is accepted once', isOne, () => ({ view, answer }));
    for (const execution of view.executions) {
      judgeOne(facts, known, user, execution, verdict);
    }
  }
  for (const { kind, user: owner, text, at } of known.answers) {
    if (kind !== 'signal' || owner !== user) continue;
    const { requestId } = JSON.parse(text) as RequestView;
    verdict.hold('a 202 is still there', views.has(requestId), () => ({ text, at }));
  }
  for (const { user: owner, view } of known.views.values()) {
    if (owner !== user) continue;
    const now = views.get(view.requestId);
    verdict.hold('what was read is still there', now !== undefined, () => view);
    if (now === undefined) continue;
    const history = new History();
    history.note(view, 0, 1, verdict);
    history.note(now, 2, 3, verdict);
  }
  for (const { id, user: owner } of facts.terminals) {
    if (owner !== user) continue;
    for (const { submit } of known.records.get(id)?.values() ?? []) {
      const isKnown = submit === undefined || views.has(submit.requestId);
      verdict.hold('only what is on disk reaches a terminal', isKnown, () => submit);
    }
  }
}

function judgeOne(
  facts: Facts,
  known: Known,
  user: string,
  view: ExecutionView,
  verdict: Verdict,
): void {
  const terminal = facts.terminals.find(
    (each) =>
      each.user === user &&
      each.platform === view.platform &&
      each.instanceId === view.instanceId &&
      each.accountName === view.accountName,
  );
  const found = {
    view,
    record: known.records.get(terminal?.id ?? '')?.get(view.executionId),
    cancelRequestId: known.cancels.get(view.executionId),
    stoppedAt: Infinity,
    mayDeny: (reason: string) => denials.includes(reason),
    isInCancelAll: false,
    isDenied: known.denied.has(view.executionId),
    mayHaveNewerCancel: true,
    isCancelWaiting: false,
  };
  for (const [rule, holds] of judgeExecution('after the crash', found)) {
    verdict.hold(rule, holds, () => found);
  }
}

/** @returns an empty id for a user that is gone: no row in the store has it. */
function userIdOf(store: Store, email: string): string {
  return findUser(store, email)?.userId ?? '';
}
