/** An account of the second family whose server has a space in its name, wherever its name is judged. */
import t from 'tap';
import { get } from '../support/api.js';
import { openReader } from '../support/event-reader.js';
import { startTestGateway } from '../support/gateway.js';

t.test(
  'an account with a space connects, is listed, gets its signal and is followed',
  async (t) => {
    const gateway = await startTestGateway(t, { users: 1 });
    const user = await gateway.user();
    const source = {
      platform: 'terminal_b',
      instanceId: 'desk-1',
      accountName: '12345@Broker-Live 12',
    };
    const plugin = await gateway.plugin(user, source);
    const { body } = await get(gateway.url, '/api/v1/terminal-events/sources', user.key);
    t.match(body.sources, [{ ...source, connected: true }]);
    const reader = await openReader(gateway.url, user.key, { source });
    const { platform, accountName } = source;
    const { requestId } = await gateway.order(user, plugin, { platform, accountName });
    t.match(await gateway.execution(user, requestId), source);
    reader.close();
  },
);
