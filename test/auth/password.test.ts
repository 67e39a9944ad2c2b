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

t.test('bytes that are not text are no password, nor is the mark of an editor before it', (t) => {
  const notText = Buffer.from('correct h\u00f6rse', 'latin1').toString('utf8');
  t.match(passwordProblem('\uFEFFcorrect horse'), /without a byte order mark/);
  t.equal(
    passwordProblem(notText),
    'A password must be UTF-8 text without a byte order mark; this one is not.',
  );
  t.equal(passwordProblem('correct h\u00f6rse'), undefined);
  t.end();
});
