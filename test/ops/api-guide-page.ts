/**
 * The tables of ops/api-guide.md. What the code knows is taken from it (codes, statuses, retry rules,
 * states and their moves); what a bot should do is written here, one entry for each, or it does not
 * compile. `api-guide-page.program` writes them into the page, and the test beside it holds the page
 * against them.
 */
import { ruleFor } from '../../src/client/retry-rules.js';
import { errors, type ErrorCode } from '../../src/errors.js';
import { limits } from '../../src/limits.js';
import { errorsOf } from '../../src/openapi/operations.js';
import { proxyErrors, type ProxyErrorCode } from '../../src/openapi/proxy-errors.js';
import { routes, type Operation } from '../../src/routes.js';
import { cancelStates, type CancelStatus } from '../../src/model/cancellation.js';
import { executionStates, type ExecutionStatus } from '../../src/model/execution.js';
import { reasonGroups } from '../../src/model/reason-codes.js';
import { table, type PageTables } from './page-tables.js';

export const pageFile = new URL('../../../ops/api-guide.md', import.meta.url);

// oxfmt-ignore
const errorAdvice: Readonly<Record<ErrorCode, string>> = {
  bad_request: 'Mend the bot’s HTTP: a doubled header, or a body that is framed in two ways.',
  invalid_idempotency_key: `Send exactly one \`Idempotency-Key\`, of 1 to ${limits.idempotencyKeyLengthMax.value} ASCII characters.`,
  malformed_json: 'Mend the body.',
  invalid_terminal_source: 'Give `platform`, `instanceId` and `accountName`, each once, as `sources` lists them.',
  invalid_event_cursor: 'Send `Last-Event-ID` once, with an `id` that the stream has given.',
  invalid_query: 'Mend the query: which parameters there are, and their bounds, is in the OpenAPI document.',
  unknown_field: 'Mend or leave out the fields that `errors` names.',
  validation_failed: 'Mend the fields in `errors`.',
  invalid_name: `Give a name of 1 to ${limits.keyNameLengthMax.value} characters.`,
  invalid_scopes: 'Name one or more of the four scopes, each once.',
  invalid_expiration: `Give a time zone; at most ${limits.keyLifetimeDaysMax.value} days ahead.`,
  invalid_limits: 'Mend the limits in `errors`: [what a key can be limited to](#limits-of-a-key).',
  active_key_limit_reached: 'Revoke a key that no bot uses.',
  invalid_api_key: 'Stop and call somebody: no waiting helps, and each attempt counts against your address.',
  invalid_credentials: 'Ask for the password again; every attempt counts.',
  invalid_token: 'Log in again.',
  insufficient_scope: 'Make a key with the scope.',
  business_plan_required: 'Ask the operator for a plan with the Public API.',
  address_not_allowed: 'Stop: the key is bound to other addresses. Make a key for this one.',
  account_frozen: 'Stop, and ask the operator.',
  trading_halted: 'Stop, and ask the operator; cancels still work.',
  risk_limit_exceeded: 'Nothing was sent. `details` says what is above the limits of the key; `too_many_open_orders` ends when an order ends.',
  email_not_confirmed: 'Ask the operator.',
  not_found: 'Mend the path.',
  request_not_found: `Check the \`requestId\`, and whose key it is. Requests are kept for ${limits.executionRetentionDays.value} days.`,
  order_not_found: 'Take `orderRef` from the status of the signal.',
  terminal_source_not_found: 'Read `sources`; wait until the terminal is there.',
  key_not_found: 'List the keys.',
  method_not_allowed: 'Mend the method; `Allow` names those that there are.',
  request_in_progress: 'Wait for `Retry-After`: your own earlier attempt is under way.',
  idempotency_conflict: 'The key belongs to another operation: mend the bot, which has used it twice.',
  idempotency_outcome_unknown: 'Look at the terminal or the broker. No new order for this one before you know.',
  duplicate_signal_id: 'The `signalId` is taken. If you lost the key of an earlier attempt: `requestId` names what was accepted; without one its outcome is not known yet, so ask again.',
  order_not_cancellable: `Read the status: the order has ended, was never at the terminal, or has had ${limits.cancelsPerOrder.value} cancels.`,
  terminal_unavailable: 'Nothing was sent. Read `sources`, and try anew when the terminal is connected.',
  terminal_timeout: 'Ask again; the terminal is connected, but slow or busy.',
  cancel_already_in_progress: 'Read the status until the first cancel has ended.',
  request_body_too_large: `Send at most ${limits.bodyBytesMax.value} bytes.`,
  unsupported_media_type: 'Send `Content-Type: application/json`.',
  expectation_failed: 'Send `Expect: 100-continue` in lower case and alone, or no `Expect`, on a new connection.',
  invalid_signal: 'Mend the fields in `details`, all of them. `signal_from_future` alone is cured by time: send the same again later.',
  invalid_filter: 'Mend the fields in `details`: nothing was cancelled.',
  invalid_timeout: 'Send `timeoutMs` alone: 0, or 5000 to 600000. The switch is as it was.',
  upgrade_required: 'This path is for terminals.',
  api_rate_limited: 'Wait for `Retry-After`, and then send more slowly.',
  rate_limit_exceeded: `Wait for \`Retry-After\`. A token lasts for ${limits.userTokenLifetimeMs.value / 3_600_000} hours: keep it.`,
  signal_rate_limit_exceeded: 'Wait for `Retry-After`: the account’s quota over all of its keys, or the orders per second of this key.',
  daily_signal_limit_exceeded: 'Wait for `Retry-After`, which ends at midnight UTC; a signal hardly lives that long.',
  too_many_event_subscriptions: `Close one of your ${limits.streamsPerUserMax.value} streams; one whose connection broke is closed within a minute.`,
  internal_error: 'Quote the `traceId` to the operator.',
  signal_processing_failed: 'The gateway does not know. Never a new key: the same one learns the outcome.',
  change_not_confirmed: 'List the keys: a key that you do not know has been made, and can be revoked.',
  public_api_disabled: 'The operator has closed the API for now. Terminals go on with what they have.',
  login_unavailable: 'Wait for `Retry-After`.',
  storage_unavailable: 'Nothing has happened. Wait for `Retry-After`, and send it again with the same key.',
  shutting_down: 'Retry on a new connection: the gateway starts again, or another has taken its place.',
};

/** Advice that differs for the errors of users, whose body has no `traceId`. */
const userAdvice: Partial<typeof errorAdvice> = {
  internal_error: 'Quote the header `X-Trace-Id` to the operator.',
};

// oxfmt-ignore
const proxyAdvice: Readonly<Record<ProxyErrorCode, string>> = {
  forbidden: 'Mend the request, or ask the operator: the proxy lets no such request through.',
  request_timeout: 'Send the whole request within 5 s.',
  unknown_host: 'Mend the host name: the operator has given each account one.',
  outcome_unknown: 'The gateway may have it: only the same Idempotency-Key learns the outcome.',
  gateway_unreachable: 'Wait for `Retry-After`: the gateway is about to start, or the operator is at work.',
  account_moving: 'Wait for `Retry-After`: the account goes on at another gateway, under the same host name.',
};

// oxfmt-ignore
const executionMeanings: Readonly<Record<ExecutionStatus, string>> = {
  queued: 'on disk, not yet sent',
  dispatched: 'sent to the terminal, which has not answered yet',
  submitted: 'the terminal has it',
  working: 'rests at the terminal or the broker',
  partially_filled: 'some of it is filled, the rest works',
  filled: 'all of it is filled',
  completed: 'a command that is no order was done',
  cancelled: 'ended before it was all filled; what was filled stays in `fills`',
  rejected: 'terminal or broker refused it, for good',
  denied: 'never left the gateway',
  expired: 'its TTL was over before it could be sent, or its time in force is',
  unknown: 'sent, and nobody has said what became of it: [see there](#unknown-and-what-to-do-about-it)',
};

// oxfmt-ignore
const cancelMeanings: Readonly<Record<CancelStatus, string>> = {
  requested: 'on disk, not yet sent',
  dispatched: 'sent to the terminal',
  pending: 'the terminal works at it',
  cancelled: 'the order is cancelled',
  rejected: 'refused: the order still lives',
  too_late: 'the order had ended first',
  not_sent: 'the terminal was gone before it could be sent: the order still lives',
  unknown: `sent, and not confirmed within ${limits.cancelConfirmTimeoutMs.value / 1_000} s; if the terminal has not stored it, it gets it again when it reconnects`,
};

// oxfmt-ignore
const reasonMeanings: Readonly<Record<keyof typeof reasonGroups, string>> = {
  notSent: 'It was not executed. A new signal is safe.',
  payload: 'The terminal cannot read the payload. Mend it.',
  terminal: 'The terminal cannot trade now. Somebody has to look at it.',
  broker: 'The broker said no; its own words are in `native`.',
  end: 'The order has ended in the ordinary way.',
  ambiguous: 'Sent, and the outcome is not known.',
  cancel: 'Why a cancel did not do what it should.',
};

/** The operations in which "send it again" can mean a second order. */
const mutations: readonly Operation[] = ['submit-signal', 'cancel-order', 'cancel-all'];
const codes = Object.keys(errors) as ErrorCode[];

export function pageTables(): PageTables {
  const ofUsers = codesOf(({ envelope, operation }) => {
    return envelope === 'legacy' && !operation.startsWith('read-openapi');
  });
  const ofBots = codesOf(({ envelope }) => envelope === 'v1');
  return {
    errors: errorTable(codes.filter((code) => ofBots.has(code) || !ofUsers.has(code))),
    'user-errors': table(
      ['HTTP', 'Code', 'What to do'],
      codes
        .filter((code) => ofUsers.has(code))
        .map((code) => [...named(code), userAdvice[code] ?? errorAdvice[code]]),
    ),
    'proxy-errors': table(
      ['HTTP', 'Code', 'Again?', 'Effect?', 'What to do'],
      Object.entries(proxyErrors).map(([code, { statuses, again, effect }]) => [
        statuses.join(', '),
        inCode(code),
        again ? 'yes' : 'no',
        effect === 'perhaps' ? `**${effect}**` : effect,
        proxyAdvice[code as ProxyErrorCode],
      ]),
    ),
    executions: stateTable(executionStates, executionMeanings),
    cancels: stateTable(cancelStates, cancelMeanings),
    reasons: table(
      ['`reasonCode`', 'What it tells'],
      Object.entries(reasonGroups).map(([group, members]) => [
        members.map(inCode).join(', '),
        reasonMeanings[group as keyof typeof reasonGroups],
      ]),
    ),
  };
}

function codesOf(isMeant: (route: (typeof routes)[number]) => boolean): Set<ErrorCode> {
  return new Set(routes.filter(isMeant).flatMap((route) => errorsOf(route)));
}

function errorTable(members: readonly ErrorCode[]): string {
  const mutating = codesOf(({ operation }) => mutations.includes(operation));
  const documented = codesOf(() => true);
  return table(
    ['HTTP', 'Code', 'Again?', 'Effect?', 'What to do'],
    members.map((code) => {
      const { retry, doubt } = ruleFor(errors[code].status, code);
      const effect = doubt === 'raised' ? '**perhaps**' : 'none';
      return [
        ...named(code),
        retry === 'never' ? 'no' : 'yes',
        mutating.has(code) || !documented.has(code) ? effect : '',
        errorAdvice[code],
      ];
    }),
  );
}

function named(code: ErrorCode): [string, string] {
  return [`${errors[code].status}`, inCode(code)];
}

function stateTable<State extends string>(
  states: Readonly<Record<State, { readonly final: boolean; readonly next: readonly State[] }>>,
  meanings: Readonly<Record<State, string>>,
): string {
  return table(
    ['Status', 'Final', 'Meaning', 'May become'],
    (Object.keys(states) as State[]).map((state) => {
      const { final, next } = states[state];
      const isCorrectable = final && next.length > 0;
      return [
        inCode(state),
        isCorrectable ? 'yes, but correctable' : final ? 'yes' : '',
        meanings[state],
        next.map(inCode).join(', '),
      ];
    }),
  );
}

function inCode(text: string): string {
  return `\`${text}\``;
}
