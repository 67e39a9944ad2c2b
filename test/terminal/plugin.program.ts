/** A plugin and nothing else in its process. Argument: the URL of its gateway. */
import { createPlugin } from '../../src/terminal/plugin.js';

createPlugin({
  url: process.argv[2] ?? '',
  token: () => 'sbs_token',
  source: { platform: 'terminal_a', instanceId: 'desk-1', accountName: 'Sim101' },
  terminal: { submit: () => undefined, notice: ({ kind }) => console.log(kind) },
}).start();
