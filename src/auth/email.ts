/**
 * What is taken for an email address: the form that browsers check `<input type=email>` by, in the
 * length that the specification allows. Kept as given, looked up in lower case.
 */
export const emailLengthMax = 320;

/** Linear: no part can match the same text in two ways. */
export const emailForm =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*$/;

/** @param email trimmed. */
export function isEmail(email: string): boolean {
  return email.length <= emailLengthMax && emailForm.test(email);
}

/** The store key of an address, so that one person is one user however the address is typed. */
export function emailKey(email: string): string {
  return email.trim().toLowerCase();
}
