/**
 * Answers that a proxy in front gives in place of a gateway, as ops/haproxy is configured: in the envelope of
 * `/api/v1`, whatever the path. A gateway never sends these codes.
 */
interface ProxyError {
  readonly statuses: readonly number[];
  readonly message: string;
  /** Whether to send the same request again, with the same Idempotency-Key. */
  readonly again: boolean;
  readonly effect: 'none' | 'perhaps';
}

// oxfmt-ignore
export const proxyErrors = {
  forbidden: { statuses: [403], again: false, effect: 'none', message: 'The request is not allowed.' },
  request_timeout: { statuses: [408], again: true, effect: 'none', message: 'The request took too long to arrive.' },
  unknown_host: { statuses: [421], again: false, effect: 'none', message: 'No account has this host name.' },
  outcome_unknown: { statuses: [502, 504], again: true, effect: 'perhaps', message: 'The connection to the gateway broke, or it did not answer in time.' },
  gateway_unreachable: { statuses: [503], again: true, effect: 'none', message: 'The gateway cannot be reached.' },
  account_moving: { statuses: [503], again: true, effect: 'none', message: 'This account is being moved to another gateway.' },
} as const satisfies Record<string, ProxyError>;

export type ProxyErrorCode = keyof typeof proxyErrors;
