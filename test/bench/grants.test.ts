import t from 'tap';
import { excesses, type Grant, grantsByWindow } from '../../bench/load/grants.js';

/** Grants that were answered a millisecond after they were sent. */
function grantsAt(...sentMs: number[]): Grant[] {
  return sentMs.map((at) => [at, at + 1]);
}

t.test('a grant counts in the window that its request was meant for', async (t) => {
  t.same(grantsByWindow(grantsAt(0, 999, 1000, 1999.9999999, 3000), 1000, 2), [2, 1]);
  t.same(grantsByWindow(grantsAt(0, 999, 1000, 1500, 2500), 1000, 3), [2, 2, 1]);
});

t.test('more than the limit in any window is an excess, wherever the window begins', async (t) => {
  t.equal(excesses(grantsAt(0, 500, 1002, 1502), 1000, 2), 0);
  t.equal(excesses(grantsAt(0, 500, 998), 1000, 2), 1);
  t.equal(excesses(grantsAt(0, 900, 950, 990), 1000, 2), 2);
});

t.test(
  'what may have been later at the server than it was sent is not held against it',
  async (t) => {
    const slow: Grant[] = [
      [0, 1],
      [500, 501],
      [995, 1005],
    ];
    t.equal(excesses(slow, 1000, 2), 0);
  },
);
