/** Logs 500 lines and exits before any of them can have been written. */
import { createLog } from '../../src/telemetry/log.js';

const log = createLog('info');
for (let line = 0; line < 500; line++) log.info({ line }, 'x'.repeat(500));
process.exit(3);
