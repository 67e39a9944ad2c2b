/** What stops trading. */
import t from 'tap';
import { operations } from '../../src/admin/operations.js';

const textOf = ({ run }: { readonly run: unknown }): string => String(run);

t.test('what stops trading needs no module that the gateway has not loaded', (t) => {
  // A build that is replaced under a running gateway, or a lack of file descriptors, must not disarm it.
  for (const name of ['user.cancel-all', 'user.set', 'trading.halt', 'key.revoke'] as const) {
    t.notMatch(textOf(operations[name]), /\bimport\(/, name);
  }
  t.match(textOf(operations['user.export']), /\bimport\(/, 'the text shows what is loaded late');
  t.end();
});
