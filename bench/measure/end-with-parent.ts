/**
 * Loaded into every process that a bench starts: when the bench is gone, however it went, the pipe
 * to this process's standard input closes, and the process ends as if it had been asked to. Threads
 * load it too, but their standard input is another one, which says nothing.
 */
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  process.stdin.on('close', () => process.kill(process.pid, 'SIGTERM'));
  process.stdin.resume();
}
