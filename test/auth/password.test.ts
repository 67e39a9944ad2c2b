import t from 'tap';
import { passwordLengthMax, passwordProblem } from '../../src/auth/password.js';

t.test('a password to be set has 8 to 128 characters, and the refusal says so', (t) => {
  t.equal(passwordProblem('x'.repeat(8)), undefined);
  t.equal(passwordProblem('x'.repeat(passwordLengthMax)), undefined);
  t.equal(passwordProblem('x'.repeat(7)), 'A password needs 8 to 128 characters; this one has 7.');
  t.match(passwordProblem(''), /8 to 128/);
  t.match(passwordProblem('x'.repeat(passwordLengthMax + 1)), /this one has 129/);
  t.equal(passwordLengthMax, 128);
  t.end();
});
