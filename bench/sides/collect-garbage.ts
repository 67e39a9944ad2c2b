/**
 * Loaded into a gateway whose memory is measured, beside `--expose-gc`: at SIGUSR2 it collects its
 * garbage, so that what is in use can be told from what merely was not collected yet.
 */
import { isMainThread } from 'node:worker_threads';

if (isMainThread) process.on('SIGUSR2', () => globalThis.gc?.());
