/**
 * The fuzz test: `npm run test:fuzz -- --inputs N [--target NAME] [--seed S]`. Sends what no honest
 * client sends to the real gateway, N inputs a target; without a target it plays all of them, one
 * after the other. Stops behind the first target in which a rule was broken.
 */
import { runTrial } from '../harness-run.js';
import { playHttp } from './http/http.target.js';
import { playIdle } from './idle/idle.target.js';
import { playPlugins } from './plugins/plugins.target.js';
import { playReaders } from './readers/readers.target.js';
import type { Target } from './target.js';

const targets: Readonly<Record<string, Target>> = {
  http: playHttp,
  idle: playIdle,
  plugins: playPlugins,
  readers: playReaders,
};

await runTrial('fuzz', { target: '', inputs: '500' }, async (trial) => {
  const { target, inputs } = trial.options;
  const wanted = target === '' ? Object.keys(targets) : [target];
  const unknown = wanted.find((name) => !Object.hasOwn(targets, name));
  if (unknown !== undefined) {
    throw new Error(`no target ${unknown}; there are ${Object.keys(targets).join(', ')}`);
  }
  for (const name of wanted) {
    if (trial.verdict.violations.length > 0) break;
    const startedAt = performance.now();
    const story = await (targets[name] as Target)(trial, Number(inputs));
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    console.log(`${name}: ${story}; ${seconds} s, ${trial.verdict.checks} checks so far`);
  }
  return `${wanted.length} targets of ${inputs} inputs`;
});
