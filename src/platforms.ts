/** Defines the platforms that signals may target, and the form of their account names. */
export interface Platform {
  /** 1 to 32 of `a-z`, `0-9`, `_`. */
  readonly token: string;
  /** Form of an account name. `named`: any text. `login-at-server`: `<ACCOUNT_LOGIN>@<ACCOUNT_SERVER>`. */
  readonly account: 'named' | 'login-at-server';
}

export const shippedPlatforms: readonly Platform[] = [
  { token: 'terminal_a', account: 'named' },
  { token: 'terminal_b', account: 'login-at-server' },
];

/** A server may have spaces in its name, as `Broker-Live 12` has, but not at its ends. */
const loginAtServer = /^[^@\s]+@[^@\s]+(?: +[^@\s]+)*$/;

export function isAccountName(platform: Platform, accountName: string): boolean {
  return platform.account === 'named' || loginAtServer.test(accountName);
}
