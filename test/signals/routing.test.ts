import fc from 'fast-check';
import t from 'tap';
import { sourceKey } from '../../src/model/source-name.js';
import { route, type ActiveSource } from '../../src/signals/routing.js';
import { shippedLimits } from '../support/shipped-limits.js';

const sources: readonly ActiveSource[] = [
  source('terminal_a', 'desk-1', 'Sim101'),
  source('terminal_a', 'desk-2', 'Sim102'),
  source('terminal_b', 'desk-1', '7@Demo'),
  { ...source('terminal_b', '', '8@Demo'), capabilities: ['cancel', 'snapshot'] },
];

const max = shippedLimits().executionsPerSignal;

const rows: [string, string[], string | null, string[], string?][] = [
  ['every source of the token', ['terminal_a'], null, ['desk-1 Sim101', 'desk-2 Sim102']],
  ['the instance alone', ['terminal_a'], 'desk-2', ['desk-2 Sim102']],
  ['the account alone', ['terminal_a'], null, ['desk-2 Sim102'], 'Sim102'],
  ['the account at the instance alone', ['terminal_a'], 'desk-2', ['desk-2 Sim102'], 'Sim102'],
  [
    'one denied for an account that is not at the instance',
    ['terminal_a'],
    'desk-1',
    ['desk-1 null no_active_terminal'],
    'Sim102',
  ],
  [
    'one denied for an account that is not there, in these letters',
    ['terminal_a'],
    null,
    ['null null no_active_terminal'],
    'sim101',
  ],
  [
    'one denied for each token without the account',
    ['terminal_a', 'terminal_b'],
    null,
    ['desk-1 Sim101', 'null null no_active_terminal'],
    'Sim101',
  ],
  [
    'tokens in their order',
    ['terminal_b', 'terminal_a'],
    'desk-1',
    ['desk-1 7@Demo', 'desk-1 Sim101'],
  ],
  [
    'one denied for a token without a source',
    ['terminal_c'],
    null,
    ['null null no_active_terminal'],
  ],
  [
    'one denied for an instance that is not there, in these letters',
    ['terminal_a'],
    'DESK-1',
    ['DESK-1 null no_active_terminal'],
  ],
  [
    'one that cannot submit is denied',
    ['terminal_b'],
    null,
    ['desk-1 7@Demo', ' 8@Demo terminal_capability_missing'],
  ],
];
for (const [name, tokens, instanceId, expected, accountName] of rows) {
  t.test(`a signal goes to ${name}`, async (t) => {
    t.strictSame(
      route(tokens, instanceId, accountName ?? null, sources, max).map((target) =>
        `${target.instanceId} ${target.accountName} ${target.deniedFor ?? ''}`.trimEnd(),
      ),
      expected,
    );
  });
}

t.test('each token is served for itself', async (t) => {
  const targets = route(['terminal_a', 'terminal_c'], 'desk-1', null, sources, max);
  t.strictSame(targets, [
    {
      platform: 'terminal_a',
      instanceId: 'desk-1',
      accountName: 'Sim101',
      sourceKey: sources[0]?.key,
      deniedFor: null,
    },
    {
      platform: 'terminal_c',
      instanceId: 'desk-1',
      accountName: null,
      sourceKey: undefined,
      deniedFor: 'no_active_terminal',
    },
  ]);
});

t.test('what is beyond the limit is one denied target, of the first token affected', async (t) => {
  const desks = (platform: string, count: number) =>
    Array.from({ length: count }, (_, i) => source(platform, `desk-${i}`, 'Sim101'));
  const shown = (tokens: string[], all: ActiveSource[], most: number) =>
    route(tokens, null, null, all, most).map(
      ({ platform, deniedFor }) => `${platform} ${deniedFor}`,
    );
  const [a, b] = [desks('terminal_a', 3), desks('terminal_b', 3)];
  const sent = (platform: string, count: number) =>
    Array.from({ length: count }, () => `${platform} null`);
  const both = ['terminal_b', 'terminal_a'];
  t.strictSame(shown(['terminal_a'], a, 3), sent('terminal_a', 3), 'the limit is within');
  t.strictSame(shown(['terminal_a'], a, 2), [
    ...sent('terminal_a', 2),
    'terminal_a too_many_executions',
  ]);
  t.strictSame(shown(both, [...a, ...b], 3), [
    ...sent('terminal_b', 3),
    'terminal_a too_many_executions',
  ]);
  t.strictSame(
    shown(both, b, 3),
    [...sent('terminal_b', 3), 'terminal_a too_many_executions'],
    'also what would have been denied for want of a terminal',
  );
  t.strictSame(route(['terminal_a'], 'desk-1', 'Sim101', [...a, ...a], 1)[1], {
    platform: 'terminal_a',
    instanceId: null,
    accountName: null,
    sourceKey: undefined,
    deniedFor: 'too_many_executions',
  });
});

t.test('a source’s key is equal for equal names only', async () => {
  const name = fc.record({
    platform: fc.string(),
    instanceId: fc.string(),
    accountName: fc.string(),
  });
  fc.assert(
    fc.property(name, name, (a, b) => {
      const isSame =
        a.platform === b.platform &&
        a.instanceId === b.instanceId &&
        a.accountName === b.accountName;
      return (sourceKey(a) === sourceKey(b)) === isSame && sourceKey(a) === sourceKey({ ...a });
    }),
  );
});

function source(platform: string, instanceId: string, accountName: string): ActiveSource {
  const name = { platform, instanceId, accountName };
  return { ...name, key: sourceKey(name), capabilities: ['submit'] };
}
