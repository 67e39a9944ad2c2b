/**
 * What a password may be, and how it is hashed. The hashing itself runs in `workers/`; the rules and
 * the cost stand here, so that the stand-in hash below can never differ in cost from a real one.
 */

/** Longest password at login and at setting, in UTF-16 units: the specification's limit. */
export const passwordLengthMax = 128;
/** Shortest that may be set. Login takes shorter ones too, so that it tells nothing about the rule. */
const passwordLengthMin = 8;

/**
 * Argon2id at OWASP's recommended minimum: a guess costs an attacker 19 MiB and some 20 ms, and a
 * burst of logins costs this node no more than 19 MiB per thread. One lane, because the pool already
 * runs one hash on each thread. A hash names its own cost, so raising this leaves old ones valid.
 */
export const argon2Cost = { memoryKib: 19_456, passes: 2, lanes: 1 } as const;

const { memoryKib, passes, lanes } = argon2Cost;
/**
 * Verified in place of the hash of an unknown email, so that it takes as long as a wrong password.
 * Salt and digest are zeros: no password is known to give them, and a match would still find no user.
 */
export const dummyHash = `$argon2id$v=19$m=${memoryKib},t=${passes},p=${lanes}$${'A'.repeat(22)}$${'A'.repeat(43)}`;

/** @returns what is wrong with a password to be set, as a sentence; undefined when it will do. */
export function passwordProblem(password: string): string | undefined {
  if (password.length >= passwordLengthMin && password.length <= passwordLengthMax)
    return undefined;
  return `A password needs ${passwordLengthMin} to ${passwordLengthMax} characters; this one has ${password.length}.`;
}
