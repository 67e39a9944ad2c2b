import t from 'tap';
import { pluginEventNames } from '../../src/events/event-names.js';

t.test('the event names are the contract’s', async (t) => {
  t.strictSame(pluginEventNames, [
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
  ]);
});
