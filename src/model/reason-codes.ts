/** Defines the reason codes of executions and cancels. Source: section 4 of the contract. */
export const reasonGroups = {
  notSent: [
    'ttl_expired',
    'no_active_terminal',
    'terminal_offline',
    'terminal_capability_missing',
    'account_frozen',
    'trading_halted',
    'key_revoked',
    'too_many_executions',
  ],
  payload: [
    'unknown_command',
    'missing_field',
    'invalid_field',
    'unsupported_execution_type',
    'missing_limit_price',
    'invalid_quantity',
    'invalid_price',
    'unknown_instrument',
    'unknown_account',
  ],
  terminal: ['trading_disabled', 'terminal_not_connected_to_broker', 'plugin_error'],
  broker: [
    'market_closed',
    'insufficient_funds',
    'price_changed',
    'no_quotes',
    'too_many_requests',
    'order_limit_reached',
    'volume_limit_reached',
    'broker_rejected',
  ],
  end: [
    'time_in_force_expired',
    'cancelled_by_api',
    'cancelled_by_operator',
    'cancel_after_expired',
    'cancelled_in_terminal',
    'cancelled_by_broker',
  ],
  ambiguous: ['confirmation_timeout', 'disconnected_after_send', 'gateway_restarted'],
  cancel: [
    'already_filled',
    'already_cancelled',
    'order_unknown_at_terminal',
    'unable_to_cancel',
    'cancel_timeout',
    'terminal_lost_before_send',
  ],
} as const satisfies Record<string, readonly string[]>;

export type ReasonCode = (typeof reasonGroups)[keyof typeof reasonGroups][number];

export const reasonCodes: readonly ReasonCode[] = Object.values(reasonGroups).flat();
