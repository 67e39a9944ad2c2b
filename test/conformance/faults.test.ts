/** Each rule of the judge catches a plugin that breaks it, and passes all others. */
import t from 'tap';
import { rules, type RuleName } from '../../src/conformance/judge.js';
import { faults } from './faults.js';
import { fastClock, judged } from './judged.js';

t.setTimeout(900_000);
t.jobs = 4;
const impatience = { answerMs: 12_000, backlog: 200 };

for (const name of Object.keys(rules) as RuleName[]) {
  t.test(
    `a plugin that breaks ${name} fails it, and nothing else`,
    { buffered: true },
    async (t) => {
      const verdicts = await judged(faults[name](fastClock), impatience);
      const failed = verdicts.filter(({ result }) => result === 'fail');
      t.same(
        failed.map(({ rule }) => rule),
        [name],
        JSON.stringify(failed),
      );
      t.not(failed[0]?.why, '');
    },
  );
}
