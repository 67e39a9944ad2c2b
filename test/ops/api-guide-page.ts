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
  bad_request: 'Correct the HTTP of the bot: it sends a header twice, or frames the body in two ways.',
  invalid_idempotency_key: `Send exactly one \`Idempotency-Key\`, of 1 to ${limits.idempotencyKeyLengthMax.value} ASCII characters.`,
  malformed_json: 'Correct the body.',
  invalid_terminal_source: 'Give `platform`, `instanceId` and `accountName`, each once, as `sources` lists them.',
  invalid_event_cursor: 'Send `Last-Event-ID` once, with an `id` that the stream has given.',
  invalid_query: 'Correct the query: the OpenAPI document lists the parameters and their bounds.',
  unknown_field: 'Correct or remove the fields that `errors` names.',
  validation_failed: 'Correct the fields in `errors`.',
  invalid_name: `Give a name of 1 to ${limits.keyNameLengthMax.value} characters.`,
  invalid_scopes: 'Name one or more of the four scopes, each once.',
  invalid_expiration: `Give a time with a time zone, at most ${limits.keyLifetimeDaysMax.value} days ahead.`,
  invalid_limits: 'Correct the limits in `errors`: [what a key can be limited to](#limits-of-a-key).',
  active_key_limit_reached: 'Revoke a key that no bot uses.',
  invalid_api_key: 'Stop, and alert the owner of the bot: waiting does not help, and each attempt counts against your address.',
  invalid_credentials: 'Ask the user for the password again; every attempt counts against your address.',
  invalid_token: 'Log in again.',
  insufficient_scope: 'Make a key with the scope that the message names.',
  business_plan_required: 'Ask the operator for a plan with the Public API.',
  address_not_allowed: 'Stop: the key may be used only from other addresses. Make a key for this address.',
  account_frozen: 'Stop, and ask the operator.',
  trading_halted: 'Stop, and ask the operator; cancels still work.',
  risk_limit_exceeded: 'The order was not sent. `details` names the limits of the key that it exceeds. `too_many_open_orders` ends when an order ends.',
  email_not_confirmed: 'Ask the operator to confirm the address.',
  not_found: 'Correct the path.',
  request_not_found: `Check the \`requestId\`, and that the key belongs to the same user. Requests are kept for ${limits.executionRetentionDays.value} days.`,
  order_not_found: 'Take `orderRef` from the status of the signal.',
  terminal_source_not_found: 'Read `sources`, and wait until it lists the terminal.',
  key_not_found: 'List the keys.',
  method_not_allowed: 'Correct the method; `Allow` names the supported ones.',
  request_in_progress: 'Wait for `Retry-After`: your own earlier attempt is under way.',
  idempotency_conflict: 'The bot has used this key for another operation: correct the bot.',
  idempotency_outcome_unknown: 'Check the terminal or the broker. Send no new order in place of this one before you know its outcome.',
  duplicate_signal_id: 'The `signalId` is taken. If an earlier attempt took it, and you lost its key: `requestId` names the accepted signal. Without `requestId` the outcome is not known yet: send the request again.',
  order_not_cancellable: `Read the status. While it is \`queued\` or \`dispatched\`, the terminal has not acknowledged the order: cancel again later. Otherwise the order has ended, or has had ${limits.cancelsPerOrder.value} cancels.`,
  terminal_unavailable: 'Nothing was sent. Read `sources`, and try again when the terminal is connected.',
  terminal_timeout: 'Send the request again: the terminal is connected, but slow or busy.',
  cancel_already_in_progress: 'Read the status until the first cancel has ended.',
  request_body_too_large: `Send at most ${limits.bodyBytesMax.value} bytes.`,
  unsupported_media_type: 'Send `Content-Type: application/json`.',
  expectation_failed: 'Send `Expect: 100-continue` in lower case and alone, or no `Expect`, on a new connection.',
  invalid_signal: 'Correct all fields in `details`. If its only code is `signal_from_future`, the same signal is valid later.',
  invalid_filter: 'Correct the fields in `details`; nothing was cancelled.',
  invalid_timeout: 'Send only `timeoutMs`: 0, or 5000 to 600000. The switch is unchanged.',
  upgrade_required: 'This path is for terminal plugins, which connect by WebSocket.',
  api_rate_limited: 'Wait for `Retry-After`, and then send more slowly.',
  rate_limit_exceeded: `Wait for \`Retry-After\`. A token lasts for ${limits.userTokenLifetimeMs.value / 3_600_000} hours: keep it.`,
  signal_rate_limit_exceeded: 'Wait for `Retry-After`: the account has used up its quota, which all keys share, or this key its orders per second.',
  daily_signal_limit_exceeded: 'Wait for `Retry-After`, which ends at midnight UTC; most signals expire before that.',
  too_many_event_subscriptions: `Close one of your ${limits.streamsPerUserMax.value} streams; one whose connection broke is closed within a minute.`,
  internal_error: 'Quote the `traceId` to the operator.',
  signal_processing_failed: 'The outcome is unknown. Repeat the request with the same key to learn it, never with a new key.',
  change_not_confirmed: 'List the keys to see whether the change was made. Revoke a new key whose secret you did not get.',
  public_api_disabled: 'The operator has disabled the API for now. Terminals go on with the commands that they have.',
  login_unavailable: 'Wait for `Retry-After`.',
  storage_unavailable: 'The request had no effect. Wait for `Retry-After`, and send it again with the same key.',
  shutting_down: 'Retry on a new connection: the gateway is restarting, or another one takes its place.',
};

/** Advice that differs for the errors of users, whose body has no `traceId`. */
const userAdvice: Partial<typeof errorAdvice> = {
  internal_error: 'Quote the header `X-Trace-Id` to the operator.',
};

// oxfmt-ignore
const proxyAdvice: Readonly<Record<ProxyErrorCode, string>> = {
  forbidden: 'Correct the request, or ask the operator: the proxy does not pass such requests on.',
  request_timeout: 'Send the whole request within 5 s.',
  unknown_host: 'Correct the host name: the operator has given each account its own.',
  outcome_unknown: 'The gateway may have carried out the request. Repeat it with the same Idempotency-Key to learn the outcome.',
  gateway_unreachable: 'Wait for `Retry-After`: the gateway is starting, or the operator is working on it.',
  account_moving: 'Wait for `Retry-After`: the account moves to another gateway, under the same host name.',
};

// oxfmt-ignore
const executionMeanings: Readonly<Record<ExecutionStatus, string>> = {
  queued: 'on disk, not yet sent',
  dispatched: 'sent to the terminal, which has not answered yet',
  submitted: 'the terminal has received the command',
  working: 'the order rests at the terminal or the broker',
  partially_filled: 'some of the order is filled, the rest is open',
  filled: 'all of the order is filled',
  completed: 'a command that is not an order was carried out',
  cancelled: 'ended before all of it was filled; `fills` shows what was filled',
  rejected: 'the terminal or the broker refused the command, for good',
  denied: 'never left the gateway',
  expired: 'its TTL ended before it could be sent, or the time in force of the order ended',
  unknown: 'sent, but its outcome was not reported: [see there](#unknown-and-what-to-do-about-it)',
};

// oxfmt-ignore
const cancelMeanings: Readonly<Record<CancelStatus, string>> = {
  requested: 'on disk, not yet sent',
  dispatched: 'sent to the terminal',
  pending: 'the terminal is working on it',
  cancelled: 'the order is cancelled',
  rejected: 'refused: the order is still open',
  too_late: 'the order had already ended',
  not_sent: 'the terminal was lost before the cancel could be sent: the order is still open',
  unknown: `sent, but not confirmed within ${limits.cancelConfirmTimeoutMs.value / 1_000} s; a terminal that has not stored the cancel gets it again when it reconnects`,
};

// oxfmt-ignore
const reasonMeanings: Readonly<Record<keyof typeof reasonGroups, string>> = {
  notSent: 'The command was not executed. A new signal is safe.',
  payload: 'The terminal does not accept the payload. Correct it.',
  terminal: 'The terminal cannot trade now: check the terminal.',
  broker: 'The broker refused the order; `native` has its own words.',
  end: 'The order has ended normally.',
  ambiguous: 'The command was sent, and its outcome is not known.',
  cancel: 'Why a cancel did not end the order.',
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
