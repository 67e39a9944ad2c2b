/** Reads which of a tenant's credentials a gateway accepts. */
import { bearer, call, json } from '../../support/api.js';
import { dialPlugin } from '../../support/plugin.js';
import type { AccessStatuses, TenantState } from './tenant-state.js';
import { answerWithinMs } from './trader.js';

/** @returns undefined when the gateway is gone. */
export async function readAccess(
  url: string,
  email: string,
  { password, keys, tokens, sessions }: TenantState,
): Promise<AccessStatuses | undefined> {
  const ask = (path: string) => (credential: { text: string }) =>
    getStatus(url, path, credential.text);
  try {
    const { status, token } = await logIn(url, email, password);
    return {
      login: status,
      plan: token === undefined ? 0 : await getStatus(url, '/api/api-keys', token),
      keys: await Promise.all(keys.map(ask('/api/v1/terminal-events/sources'))),
      tokens: await Promise.all(tokens.map(ask('/api/api-keys'))),
      sessions: await Promise.all(sessions.map(({ text }) => upgradeStatus(url, text))),
    };
  } catch {
    return undefined;
  }
}

/** Status of a GET with this bearer token; rejects when no answer comes. */
export async function getStatus(url: string, path: string, token: string): Promise<number> {
  const signal = AbortSignal.timeout(answerWithinMs);
  return (await call(url, 'GET', path, { headers: bearer(token), signal })).status;
}

/** `token`: undefined when the login is refused. */
export async function logIn(
  url: string,
  email: string,
  password: string,
): Promise<{ status: number; token?: string; sessionToken?: string }> {
  const { status, body } = await call(url, 'POST', '/api/auth/login', {
    headers: json,
    body: JSON.stringify({ email, password: password === '' ? 'never set' : password }),
    signal: AbortSignal.timeout(answerWithinMs),
  });
  return status === 200
    ? { status, token: body.token, sessionToken: body.sessionToken }
    : { status };
}

function upgradeStatus(url: string, sessionToken: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const { socket } = dialPlugin(url, sessionToken, {
      onOpen: (plugin) => {
        plugin.cut();
        resolve(101);
      },
    });
    socket.on('unexpected-response', (_request, { statusCode = 0 }) => {
      socket.terminate();
      resolve(statusCode);
    });
    socket.on('error', reject);
  });
}
