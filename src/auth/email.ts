/**
 * Validates email addresses with the pattern of HTML's `<input type=email>` and the length of the
 * specification. Addresses are stored as entered and compared in lower case.
 */
export const emailLengthMax = 320;

/** Matches in linear time: no part can match the same text in two ways. */
export const emailForm =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*$/;

/** @param email trimmed. */
export function isEmail(email: string): boolean {
  return email.length <= emailLengthMax && emailForm.test(email);
}

/** @returns the store key of an address: trimmed and in lower case. */
export function emailKey(email: string): string {
  return email.trim().toLowerCase();
}
