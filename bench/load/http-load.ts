/**
 * Program: the HTTP load generator. Takes a LoadSpec as a line of JSON, runs it and answers with a
 * LoadReport. Raw sockets, prepared bytes, no promise and no closure for a request: a generator
 * slower than the server would measure itself.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { LoadReportJson, LoadSpec } from './load.js';
import { runClosedLoop } from './closed-loop.js';
import { runOpenLoop } from './open-loop.js';

const lines = createInterface({ input: process.stdin });
const asked = once(lines, 'line') as Promise<[string]>;
console.log('{}');
const spec = JSON.parse((await asked)[0]) as LoadSpec;
const run = randomBytes(4).toString('hex');
const report: LoadReportJson =
  spec.ratePerSecond === undefined
    ? await runClosedLoop(spec, run)
    : await runOpenLoop(spec, spec.ratePerSecond, run);
console.log(JSON.stringify(report));
