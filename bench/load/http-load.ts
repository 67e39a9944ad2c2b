/**
 * Program: the HTTP load generator. Takes a LoadSpec as a line of JSON, runs it and answers with a
 * LoadReport. Raw sockets, prepared bytes, no promise and no closure for a request: a generator
 * slower than the server would measure itself.
 */
import { randomBytes } from 'node:crypto';
import { runClosedLoop } from './closed-loop.js';
import { answerOnce } from './commands.js';
import type { LoadReportJson, LoadSpec } from './load.js';
import { runOpenLoop } from './open-loop.js';

await answerOnce((spec: LoadSpec): Promise<LoadReportJson> => {
  const run = randomBytes(4).toString('hex');
  return spec.ratePerSecond === undefined
    ? runClosedLoop(spec, run)
    : runOpenLoop(spec, spec.ratePerSecond, run);
});
