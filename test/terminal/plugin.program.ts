/** A plugin and nothing else in its process. Arguments: the URL of its gateway; `stopped` to stop it before its start. */
import { createPlugin } from '../../src/terminal/plugin.js';

const plugin = createPlugin({
  url: process.argv[2] ?? '',
  token: () => 'sbs_token',
  source: { platform: 'terminal_a', instanceId: 'desk-1', accountName: 'Sim101' },
  terminal: { submit: () => undefined, notice: ({ kind }) => console.log(kind) },
});
if (process.argv[3] === 'stopped') void plugin.stop();
plugin.start();
