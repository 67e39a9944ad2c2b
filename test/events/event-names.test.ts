import t from 'tap';
import { eventNames, pluginEventNames } from '../../src/events/event-names.js';

t.test('the event names are the contract’s; replay_gap is the stream’s own', async (t) => {
  t.strictSame(eventNames, [
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
    'replay_gap',
  ]);
  t.strictSame(
    pluginEventNames,
    eventNames.filter((name) => name !== 'replay_gap'),
  );
});
