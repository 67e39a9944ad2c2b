import t from 'tap';
import { loginOutline, loginSchema, parseLogin } from '../../src/auth/login-request.js';
import { parseJson } from '../../src/http/json-body.js';
import { unknownFields } from '../../src/lib/unknown-fields.js';

const valid = { email: 'trader@example.com', password: 'correct horse' };

t.test('valid credentials pass: the email trimmed, the password untouched', (t) => {
  t.strictSame(parseLogin(valid), valid);
  t.strictSame(parseLogin({ email: ' Trader@Example.com\t', password: '  x ', other: 1 }), {
    email: 'Trader@Example.com',
    password: '  x ',
  });
  t.strictSame(parseLogin({ ...valid, password: 'x'.repeat(128) }), {
    ...valid,
    password: 'x'.repeat(128),
  });
  t.end();
});

t.test('a root that is no object is one violation', (t) => {
  for (const body of [undefined, null, 7, 'text', true, [], [valid]]) {
    t.strictSame(parseLogin(body), [{ field: '$', code: 'object_required' }], JSON.stringify(body));
  }
  t.end();
});

t.test('every violated field is named, each with one code', (t) => {
  t.strictSame(parseLogin({}), [
    { field: 'email', code: 'required' },
    { field: 'password', code: 'required' },
  ]);
  t.strictSame(parseLogin({ email: 'trader', password: 'x'.repeat(129) }), [
    { field: 'email', code: 'invalid_email' },
    { field: 'password', code: 'invalid_length' },
  ]);
  const emails: [unknown, string][] = [
    [null, 'required'],
    ['', 'required'],
    ['  ', 'required'],
    [7, 'invalid_email'],
    ['trader', 'invalid_email'],
    ['@example.com', 'invalid_email'],
    ['trader@', 'invalid_email'],
    ['a b@example.com', 'invalid_email'],
    ['a@b@example.com', 'invalid_email'],
    ['a@example..com', 'invalid_email'],
    ['a@-example.com', 'invalid_email'],
    [`${'a'.repeat(309)}@example.com`, 'invalid_length'],
  ];
  for (const [email, code] of emails) {
    t.strictSame(parseLogin({ ...valid, email }), [{ field: 'email', code }], String(email));
  }
  const passwords: [unknown, string][] = [
    [null, 'required'],
    ['', 'required'],
    [12345678, 'required'],
    ['x'.repeat(129), 'invalid_length'],
  ];
  for (const [password, code] of passwords) {
    t.strictSame(parseLogin({ ...valid, password }), [{ field: 'password', code }]);
  }
  t.end();
});

t.test('an email of 320 characters is still taken', (t) => {
  const email = `${'a'.repeat(308)}@example.com`;
  t.equal(email.length, 320);
  t.strictSame(parseLogin({ ...valid, email }), { ...valid, email });
  t.end();
});

t.test('of a long body only what a login has is parsed', async (t) => {
  const names = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`name${i}`, 'text']));
  const login = { email: 'bot@example.test', password: 'correct horse' };
  const parse = (body: object) =>
    parseJson(Buffer.from(JSON.stringify(body)), 16, loginOutline)?.value;
  t.strictSame(parse({ ...login, password: 'x'.repeat(2_000) }), {
    ...login,
    password: 'x'.repeat(2_000),
  });
  const parsed = parse({ ...login, ...names });
  t.match(parsed, login);
  t.notMatch(JSON.stringify(parsed), 'name499');
  t.strictSame(unknownFields(parsed, loginSchema), unknownFields(names, loginSchema));
});
