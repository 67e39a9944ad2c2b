/** Asks a gateway what each credential of a tenant is good for. */
import { WebSocket } from 'ws';
import { bearer, call, json } from '../../support/api.js';
import type { Standing, TenantState } from './tenant-state.js';

const answerWithinMs = 20_000;

/** @returns undefined when the gateway is gone. */
export async function readStanding(
  url: string,
  email: string,
  { password, keys, tokens, sessions }: TenantState,
): Promise<Standing | undefined> {
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

/** The answer to anyone who has this key; rejects when there is none. */
export async function getStatus(url: string, path: string, token: string): Promise<number> {
  const signal = AbortSignal.timeout(answerWithinMs);
  return (await call(url, 'GET', path, { headers: bearer(token), signal })).status;
}

/** `token`: undefined where there is no login with this password. */
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
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/plugin/v1`, 'signalbox.plugin.v1', {
    headers: bearer(sessionToken),
    handshakeTimeout: answerWithinMs,
  });
  return new Promise((resolve, reject) => {
    socket.on('open', () => {
      socket.terminate();
      resolve(101);
    });
    socket.on('unexpected-response', (_request, { statusCode = 0 }) => {
      socket.terminate();
      resolve(statusCode);
    });
    socket.on('error', reject);
  });
}
