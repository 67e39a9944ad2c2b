/**
 * The test oracle: compares what an input got with what a strict parser reads in its bytes and what the
 * specification says of those requests.
 */
import { mismatchOf } from '../../../support/answer-judge.js';
import { isOlderBinary } from '../../../support/older-binary.js';
import type { Verdict } from '../../verdict.js';
import type { Answer } from './answers.js';
import type { Fixtures } from './fixtures.js';
import type { Exchange } from './exchange.js';
import { readHttp, type Reading, type ReadRequest } from './http-reader.js';
import type { Input } from './input.js';
import type { Ledger } from './ledger.js';
import { expectationOf, type Expectation } from './request-model.js';

/** Statuses of the native server's own responses. */
const nativeStatuses = [400, 431, 505];
/** The refusal after which the gateway closes the connection. */
const closing = '400 bad_request';
const refusals = ['400', '431', '505', closing];
/** Refusals that requests of the same input may cause one another. */
const collisions = [
  '409 idempotency_conflict',
  '409 request_in_progress',
  '409 duplicate_signal_id',
];

/**
 * The gateway aborts a request that is incomplete after ten seconds
 * (native-notes/request-lifetimes.md).
 */
const giveUpMs = 8_000;

/** The meaning of an input, known before it is sent. */
interface Meaning {
  readonly reading: Reading;
  /** One for each request; a signal's TTL may end before it is sent. */
  readonly expectations: readonly Expectation[];
}

export function meaningOf(input: Input, fixtures: Fixtures, ledger: Ledger): Meaning {
  ledger.playing(input);
  const bytes = input.pieces.join('');
  const reading = readHttp(bytes);
  const expectations = reading.requests.map((request) =>
    expectationOf(request, fixtures, Date.now()),
  );
  const acted = reading.end.startsWith('gap')
    ? nativeRequests(input).map((request) => expectationOf(request, fixtures, Date.now()))
    : expectations;
  for (const { effect } of acted) {
    if (effect !== undefined) ledger.allow(effect, `${input.name} (${reading.end})`);
  }
  return { reading, expectations };
}

/** Segments may arrive as they were sent or merged: both are possible. */
function nativeRequests({ pieces }: Input): ReadRequest[] {
  const bytes = pieces.join('');
  let at = 0;
  const cuts = new Set(pieces.map((piece) => (at += piece.length)));
  return [new Set<number>(), cuts].flatMap((places) => [
    ...readHttp(bytes, 'native', places).requests,
  ]);
}

export function judge(
  verdict: Verdict,
  ledger: Ledger,
  fixtures: Fixtures,
  input: Input,
  { reading, expectations }: Meaning,
  outcome: Exchange,
): void {
  const { answers, rest, isClosed, isStream } = outcome;
  const { requests, end } = reading;
  const hold = (rule: string, holds: boolean, more: unknown): boolean =>
    verdict.hold(rule, holds, () => [input, reading, outcome, more]);
  hold('the connection is closed in the end', isClosed || input.ending === 'reset' || isStream, '');
  const isWhole =
    rest === '' || input.ending !== 'leave' || 'HTTP/1.1'.startsWith(rest.slice(0, 8));
  hold('nothing but answers is sent', isWhole, rest);
  const isGap = end.startsWith('gap');
  const most = requests.length + (end === 'done' ? 0 : 1);
  // The native parser reads on after a refusal and refuses what follows too.
  const asked = answers.filter((answer, at) => at < most || saidBy(answer) !== closing);
  hold('no answer comes that was not asked for', isGap || asked.length <= most, most);
  if (
    input.isPlain &&
    input.ending === 'leave' &&
    outcome.sentWithinMs < giveUpMs &&
    end === 'done' &&
    !isStream
  ) {
    hold(
      'every request is answered',
      answers.length === requests.length || wasCut(input, reading, answers),
      '',
    );
  }
  answers.forEach((answer, place) => {
    const request = requests[place];
    const said = saidBy(answer);
    const seen = { ...answer, request: isGap || request?.isOdd === true ? undefined : request };
    const mismatch = isNative(answer) ? undefined : mismatchOf(seenAnswer(seen, isStream));
    hold('the answer is documented', mismatch === undefined, mismatch);
    const isBusy = said.startsWith('503 login_unavailable');
    const isServerError =
      answer.status >= 500 && !isBusy && !(isNative(answer) && answer.status === 505);
    hold('no answer is a server error', !isServerError, said);
    if (isGap) return;
    const expected = expectations[place];
    if (request === undefined || expected === undefined) {
      hold('what is no request is refused', answer.status >= 400, said);
      return;
    }
    const allowed = allowedOf(
      input,
      request,
      expected,
      expectationOf(request, fixtures, Date.now()),
      place,
      expected.effect?.kind === 'signal' && ledger.isContested(expected.effect),
    );
    const isOurs = isOneOf(said, allowed, request.method === 'HEAD');
    hold('the answer is the one that the request asks for', isOurs, [said, allowed]);
    const isFirst = answer.headers['idempotent-replayed'] === undefined;
    if (isOurs && answer.status === 202 && isFirst && expected.effect !== undefined)
      ledger.confirm(expected.effect);
  });
}

/** The response to a HEAD has no body with a code. */
function isOneOf(said: string, allowed: readonly string[] | 'anything', isHead: boolean): boolean {
  if (allowed === 'anything') return true;
  return allowed.some((each) => (isHead ? each.split(' ', 1)[0] : each) === said);
}

function allowedOf(
  input: Input,
  request: ReadRequest,
  { verdicts }: Expectation,
  later: Expectation,
  place: number,
  isContested: boolean,
): readonly string[] | 'anything' {
  if (verdicts === 'anything' || later.verdicts === 'anything') return 'anything';
  const exact = [...verdicts, ...later.verdicts, ...(isContested ? collisions : [])];
  if (input.isPlain) return isCutInLine(input, request) ? [...exact, '505'] : exact;
  const others = place > 0 || verdicts.includes('202') ? collisions : [];
  return [...exact, ...refusals, ...others];
}

const head = { method: 'HEAD' };

/**
 * Whether a request line is split, which the older native parser answers with 505
 * (native-notes/http-parser.md).
 */
function isCutInLine({ pieces }: Input, { start, lineEnd, method, target }: ReadRequest): boolean {
  if (!isOlderBinary) return false;
  let at = 0;
  return pieces.some((piece) => {
    at += piece.length;
    const place = at - start;
    return place === method.length + 1 || (place > method.length + target.length && at < lineEnd);
  });
}

/** A split request line got its 505, which closes the connection. */
function wasCut(input: Input, { requests }: Reading, answers: readonly Answer[]): boolean {
  const last = requests[answers.length - 1];
  return answers.at(-1)?.status === 505 && last !== undefined && isCutInLine(input, last);
}

function isNative({ headers, status }: Answer): boolean {
  return headers['x-trace-id'] === undefined && nativeStatuses.includes(status);
}

/** @returns the answer in the form of the expectations: `422 invalid_signal v:unsupported_version`. */
function saidBy(answer: Answer): string {
  const { status, body } = answer;
  if (isNative(answer) || status < 400) return `${status}`;
  try {
    const parsed = JSON.parse(Buffer.from(body, 'latin1').toString());
    const { code, details } = parsed.error ?? parsed;
    const told = (details ?? []).map(({ field, code }: any) => `${field}:${code}`).join(', ');
    return `${status} ${code}${told === '' ? '' : ` ${told}`}`;
  } catch {
    return `${status}`;
  }
}

function seenAnswer(
  { status, headers, body, request }: Answer & { readonly request: ReadRequest | undefined },
  isStream: boolean,
): Parameters<typeof mismatchOf>[0] {
  // An unknown request may be a HEAD, without a body.
  const isUnread = isStream || (body === '' && (request ?? head).method === 'HEAD');
  return {
    request: request && { method: request.method, path: request.target },
    status,
    header: (name) => headers[name.toLowerCase()]?.join(', '),
    headerNames: Object.keys(headers),
    text: isUnread ? undefined : Buffer.from(body, 'latin1').toString(),
  };
}
