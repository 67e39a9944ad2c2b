/** Defines the names of the events that terminals may send. The gateway itself adds `replay_gap` to a stream. */
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
