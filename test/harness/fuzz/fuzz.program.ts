/**
 * The fuzz harness: `npm run test:fuzz -- --inputs N [--target NAME] [--attacks NAMES] [--seed S]`. Sends N
 * hostile inputs per target to a real gateway; without NAME all targets, one after another. Stops after the
 * first target with a violation.
 */
import { runHarness } from '../harness-run.js';
import { fuzzHttp } from './http/http.target.js';
import { fuzzIdle } from './idle/idle.target.js';
import { fuzzFloods } from './plugins/floods.target.js';
import { fuzzPlugins } from './plugins/plugins.target.js';
import { fuzzReaders } from './readers/readers.target.js';
import type { Target } from './target.js';

const targets: Readonly<Record<string, Target>> = {
  floods: fuzzFloods,
  http: fuzzHttp,
  idle: fuzzIdle,
  plugins: fuzzPlugins,
  readers: fuzzReaders,
};

await runHarness('fuzz', { target: '', inputs: 500, attacks: '' }, async (run) => {
  const { target, inputs } = run.options;
  const wanted = target === '' ? Object.keys(targets) : [target];
  const unknown = wanted.find((name) => !Object.hasOwn(targets, name));
  if (unknown !== undefined) {
    throw new Error(`no target ${unknown}; there are ${Object.keys(targets).join(', ')}`);
  }
  for (const name of wanted) {
    if (run.verdict.violations.length > 0) break;
    const startedAt = performance.now();
    const summary = await (targets[name] as Target)(run, inputs);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    console.log(`${name}: ${summary}; ${seconds} s, ${run.verdict.checks} checks so far`);
  }
  return `${wanted.length} targets of ${inputs} inputs`;
});
