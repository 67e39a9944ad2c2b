/**
 * Defines the password rules and the cost of a hash; the hashing itself runs in `workers/`. The dummy hash is
 * defined here, too, so that its cost always equals that of a real one.
 */
import { foreignText } from '../lib/foreign-text.js';

/** Longest password, in UTF-16 code units. Source: the specification. */
export const passwordLengthMax = 128;
/** Shortest password that may be set. Login accepts shorter ones, so as not to reveal the rule. */
const passwordLengthMin = 8;

/**
 * Argon2id with OWASP's recommended minimum: each guess costs 19 MiB and about 10 ms (native-notes/hashing.md), and
 * logins use at most 19 MiB per thread. One lane, because the pool runs one hash per thread. A hash contains its
 * parameters, so hashes stay valid when these change.
 */
export const argon2Cost = { memoryKib: 19_456, passes: 2, lanes: 1 } as const;

/**
 * A hash that a gateway may have made, with less than 100 MB and 10 passes: a dearer one, in the file of a user who is
 * imported, would take a thread for each of that user's logins, and make those of others wait.
 */
export const passwordHashForm =
  /^\$argon2id\$v=19\$m=[1-9]\d{0,4},t=[1-9],p=1\$[A-Za-z0-9+/]{11,64}\$[A-Za-z0-9+/]{43}$/;

const { memoryKib, passes, lanes } = argon2Cost;
/**
 * Verified for an unknown email, so that the response takes as long as for a wrong password (timing attack).
 * Salt and digest are zeros; a match would still find no user.
 */
export const dummyHash = `$argon2id$v=19$m=${memoryKib},t=${passes},p=${lanes}$${'A'.repeat(22)}$${'A'.repeat(43)}`;

/** @returns why a new password is invalid, as a sentence; undefined if it is valid. */
export function passwordProblem(password: string): string | undefined {
  if (foreignText.test(password)) {
    return 'A password must be UTF-8 text without a byte order mark; this one is not.';
  }
  if (password.length >= passwordLengthMin && password.length <= passwordLengthMax)
    return undefined;
  return `A password needs ${passwordLengthMin} to ${passwordLengthMax} characters; this one has ${password.length}.`;
}
