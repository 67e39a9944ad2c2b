/** The judge of plugins passes the reference plugin, and points at the documents of the protocol. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { rules, type RuleName } from '../../src/conformance/judge.js';
import { judged } from './judged.js';

t.setTimeout(600_000);
const names = Object.keys(rules) as RuleName[];
const patience = { answerMs: 60_000, backlog: 2_000 };

for (const platform of ['terminal_a', 'terminal_b']) {
  t.test(`the reference plugin passes every rule as ${platform}`, async (t) => {
    const verdicts = await judged({}, { ...patience, platform });
    t.same(
      verdicts.filter(({ result }) => result === 'fail'),
      [],
    );
    t.same(
      verdicts.map(({ rule }) => rule),
      names,
    );
  });
}

t.test('every rule has its place in a document of the protocol', async (t) => {
  for (const [name, { place, says }] of Object.entries(rules)) {
    const [file = '', anchor = ''] = place.split('#');
    const text = readFileSync(new URL(`../../../src/plugins/${file}`, import.meta.url), 'utf8');
    const anchors = [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    );
    t.ok(anchors.includes(anchor), `${name}: ${place}`);
    t.not(says, '');
  }
});

t.test('a rule about a capability that the plugin does not have is not tried', async (t) => {
  const only: RuleName[] = ['cancel', 'snapshot', 'hello'];
  const verdicts = await judged(
    {
      fromPlugin: (frame) =>
        frame.type === 'hello' ? { ...frame, capabilities: ['submit'] } : frame,
    },
    { ...patience, only },
  );
  t.match(verdicts, [
    { rule: 'hello', result: 'pass', why: '' },
    { rule: 'snapshot', result: 'pass', why: /^Not tried: .*"snapshot"/ },
    { rule: 'cancel', result: 'pass', why: /^Not tried: .*"cancel"/ },
  ]);
});
