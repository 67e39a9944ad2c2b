import t from 'tap';
import { resumed, suspended, withState } from '../../src/auth/moving.js';
import type { User } from '../../src/model/records.js';

const user: User = {
  userId: 'u1',
  email: 'ann@example.com',
  plan: 'business',
  passwordHash: 'hash',
  confirmed: true,
  frozen: false,
  tokenGeneration: 3,
  sessionGeneration: 5,
  createdAt: 1,
};

t.test('a user that moves stands still, and its sessions stay good', (t) => {
  t.match(suspended(user), { frozen: true, confirmed: false, sessionGeneration: 5 });
  t.equal(suspended(suspended(user)).tokenGeneration, 4, 'twice is once');
  t.end();
});

t.test('a user whose move is undone is as before, but for the user tokens', (t) => {
  t.strictSame(resumed(suspended(user)), { ...user, tokenGeneration: 4 });
  const locked = { ...user, frozen: true, confirmed: false };
  t.strictSame(resumed(suspended(locked)), { ...locked, tokenGeneration: 4 });
  t.equal(resumed(user).moving, undefined);
  t.strictSame(resumed(user), user);
  t.end();
});

t.test('what is changed meanwhile holds for the user as it was, and its own freeze stays', (t) => {
  const frozen = suspended({ ...user, frozen: true });
  t.match(withState(frozen, { frozen: false }), { frozen: true, moving: undefined });
  t.match(withState(suspended(user), { frozen: true }), { moving: { frozen: true } });
  const unconfirmed = withState(suspended(user), { confirmed: false });
  t.match(unconfirmed, { frozen: true, moving: { confirmed: false } });
  t.match(withState(unconfirmed, { frozen: false }), { frozen: false, confirmed: false });
  t.end();
});
