import fc from 'fast-check';
import t from 'tap';
import { sourceKey } from '../../src/model/source-name.js';
import { route, type ActiveSource } from '../../src/signals/routing.js';

const sources: readonly ActiveSource[] = [
  source('terminal_a', 'desk-1', 'Sim101'),
  source('terminal_a', 'desk-2', 'Sim102'),
  source('terminal_b', 'desk-1', '7@Demo'),
  { ...source('terminal_b', '', '8@Demo'), capabilities: ['cancel', 'snapshot'] },
];

const rows: [string, string[], string | null, string[]][] = [
  ['every source of the token', ['terminal_a'], null, ['desk-1 Sim101', 'desk-2 Sim102']],
  ['the instance alone', ['terminal_a'], 'desk-2', ['desk-2 Sim102']],
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
    'one denied for an instance that is not there',
    ['terminal_a'],
    'desk-9',
    ['desk-9 null no_active_terminal'],
  ],
  [
    'one that cannot submit is denied',
    ['terminal_b'],
    null,
    ['desk-1 7@Demo', ' 8@Demo terminal_capability_missing'],
  ],
];
for (const [name, tokens, instanceId, expected] of rows) {
  t.test(`a signal goes to ${name}`, async (t) => {
    t.strictSame(
      route(tokens, instanceId, sources).map((target) =>
        `${target.instanceId} ${target.accountName} ${target.deniedFor ?? ''}`.trimEnd(),
      ),
      expected,
    );
  });
}

t.test('each token is served for itself', async (t) => {
  const targets = route(['terminal_a', 'terminal_c'], 'desk-1', sources);
  t.strictSame(targets, [
    { platform: 'terminal_a', instanceId: 'desk-1', accountName: 'Sim101', deniedFor: null },
    {
      platform: 'terminal_c',
      instanceId: 'desk-1',
      accountName: null,
      deniedFor: 'no_active_terminal',
    },
  ]);
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
  return { platform, instanceId, accountName, capabilities: ['submit'] };
}
