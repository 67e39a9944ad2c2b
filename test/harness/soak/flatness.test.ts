import t from 'tap';
import { judgeFlatness, theilSenSlope } from './flatness.js';

const tolerance = { absolute: 10, relative: 0.1 };

t.test('the slope is that of most pairs, whatever a few odd figures say', async (t) => {
  t.equal(theilSenSlope([0, 2, 4, 6, 8]), 2);
  t.equal(theilSenSlope([0, 2, 900, 6, 8, 10, -500, 14, 16]), 2);
  t.equal(theilSenSlope([5, 5, 5]), 0);
  t.equal(theilSenSlope([5]), 0);
});

t.test('noise around a level is flat, steady growth beyond the tolerance is not', async (t) => {
  const noise = [3, -4, 1, 5, -2, 0, -5, 4, 2, -1, -3, 5, 0, 1, -4];
  const level = noise.map((each) => 100 + each);
  t.equal(judgeFlatness(level, tolerance).isFlat, true);
  const leak = noise.map((each, place) => 100 + each + 3 * place);
  t.equal(judgeFlatness(leak, tolerance).isFlat, false);
  const shrinking = noise.map((each, place) => 100 + each - 3 * place);
  t.equal(judgeFlatness(shrinking, tolerance).isFlat, true);
});
