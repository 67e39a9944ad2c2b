/** Logs a terminal in: exchanges email and password for a session token at the gateway. */
import { answerText } from '../lib/answer-text.js';
import { isObject } from '../lib/is-object.js';
import { keptAlive } from '../lib/kept-alive.js';
import { printable } from '../lib/printable.js';

export type LoginResult =
  | { readonly ok: true; readonly sessionToken: string }
  /** `message` is for the operator. */
  | { readonly ok: false; readonly message: string };

export interface LoginRequest {
  /** A gateway's URL. */
  readonly url: string;
  readonly email: string;
  readonly password: string;
}

const timeoutMs = 15_000;
/** Many times any answer to a login. */
const answerBytesMax = 65_536;

// oxfmt-ignore
const refusals: Readonly<Record<string, string>> = {
  invalid_credentials: 'Wrong email or password.',
  email_not_confirmed: 'The email is not confirmed yet. The operator can confirm it with: signalbox user set EMAIL --confirmed true',
  rate_limit_exceeded: 'There were too many logins from here. Wait a minute, then try again.',
  login_unavailable:   'The gateway is too busy to check passwords. Try again in a few seconds.',
};

/** What a gateway's URL must be, for a message. */
export const gatewayUrlForm = 'an http or ws URL, such as http://127.0.0.1:8080';

export function isGatewayUrl(text: string): boolean {
  return URL.canParse(text) && /^(https?|wss?):$/.test(new URL(text).protocol);
}

export async function logIn(request: LoginRequest): Promise<LoginResult> {
  return keptAlive(attempt(request));
}

async function attempt({ url, email, password }: LoginRequest): Promise<LoginResult> {
  const address = new URL('api/auth/login', url.endsWith('/') ? url : `${url}/`);
  address.protocol = address.protocol.replace(/^ws/, 'http');
  let status: number;
  let body: Record<string, unknown>;
  try {
    const response = await fetch(address, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password }),
      signal: AbortSignal.timeout(timeoutMs),
      redirect: 'error',
    });
    status = response.status;
    const parsed: unknown = JSON.parse(await answerText(response, answerBytesMax));
    if (!isObject(parsed)) throw new SyntaxError();
    body = parsed;
  } catch (error) {
    return { ok: false, message: `No login at ${address.origin}: ${reasonOf(error)}.` };
  }
  const sessionToken = body['sessionToken'];
  if (status === 200 && typeof sessionToken === 'string') return { ok: true, sessionToken };
  const code = String(body['code']);
  const message = Object.hasOwn(refusals, code)
    ? (refusals[code] as string)
    : `The gateway refuses the login (${status} ${printable(code)}).`;
  return { ok: false, message };
}

/** The message of `fetch` is only "fetch failed"; the reason is in its cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof SyntaxError) return 'the answer is not that of a gateway';
  const { cause } = error;
  if (cause instanceof Error && 'code' in cause) return String(cause.code);
  return cause instanceof Error ? cause.message : error.message;
}
