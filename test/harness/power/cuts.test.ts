import t from 'tap';
import { takeCuts } from './cuts.js';

t.test('a cut between two moments is taken at the next, and none behind it is lost', async (t) => {
  const moments = [1, 2, 5, 6].map((now) => ({ calls: { now } }));
  const cuts = [1, 3, 4, 5, 6].map((at) => ({ at, fate: 'torn' }) as const);
  const taken = [...takeCuts(moments, cuts)].map(({ calls }) => calls.now);
  t.strictSame(taken, [1, 5, 5, 5, 6]);
});
