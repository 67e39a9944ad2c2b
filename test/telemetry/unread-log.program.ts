/** Logs more than a pipe holds, tells how long that took, and exits. */
import { createLog } from '../../src/telemetry/log.js';

const log = createLog('info');
const begunAt = performance.now();
for (let line = 0; line < 2_000; line++) log.info({ line }, 'x'.repeat(500));
process.stdout.write(JSON.stringify({ ms: performance.now() - begunAt }));
process.exit(3);
