/** Defines the names of the events that terminals may send. Only the gateway sends `replay_gap`. */
export const pluginEventNames = [
  'command_result',
  'order_update',
  'execution_update',
  'position_update',
  'cancel_update',
  'account_update',
  'account_status',
  'connection_status',
  'source_status',
  'state_snapshot',
  'terminal_message',
] as const;

export type PluginEventName = (typeof pluginEventNames)[number];
