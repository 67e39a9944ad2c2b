/** Validates the body of `POST /api/auth/login`. Returns the credentials, or the errors of all fields. */
import Type, { type Static } from 'typebox';
import type { FieldError } from '../errors.js';
import { isObject } from '../lib/is-object.js';
import { Outline } from '../lib/json-outline.js';
import { compileSchema } from '../lib/schema.js';
import { emailForm, emailLengthMax, isEmail } from './email.js';
import { passwordLengthMax } from './password.js';

/** The email is validated after trimming. */
export const loginSchema = Type.Object(
  {
    email: Type.String({ maxLength: emailLengthMax, pattern: emailForm.source }),
    password: Type.String({ minLength: 1, maxLength: passwordLengthMax }),
  },
  { additionalProperties: false },
);

/** What `parseLogin` looks at, and the unknown fields. */
export const loginOutline = new Outline(Object.keys(loginSchema.properties), 1);

export type Login = Static<typeof loginSchema>;

const isLogin = compileSchema(loginSchema);

export function parseLogin(body: unknown): Login | FieldError[] {
  if (!isObject(body)) return [{ field: '$', code: 'object_required' }];
  const { email: given, password } = body;
  const email = typeof given === 'string' ? given.trim() : given;
  const login = { email, password };
  if (isLogin(login)) return login;
  return [
    { field: 'email', code: emailViolation(email) },
    { field: 'password', code: passwordViolation(password) },
  ].filter((error): error is FieldError => error.code !== undefined);
}

function emailViolation(email: unknown): string | undefined {
  if (email === undefined || email === null || email === '') return 'required';
  if (typeof email !== 'string') return 'invalid_email';
  if (email.length > emailLengthMax) return 'invalid_length';
  return isEmail(email) ? undefined : 'invalid_email';
}

/** Passwords are not trimmed: spaces may be part of them. */
function passwordViolation(password: unknown): string | undefined {
  if (typeof password !== 'string' || password === '') return 'required';
  return password.length > passwordLengthMax ? 'invalid_length' : undefined;
}
