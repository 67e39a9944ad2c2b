/** The actions of a tenant over HTTP: logs in, creates an API key, deletes one. */
import { bearer, call, json } from '../../support/api.js';
import type { Chance } from '../chance.js';
import { logIn } from './tenant-access.js';
import { gained, revoked, type Credential } from './tenant-state.js';
import type { Ending, Tenant } from './tenant.js';
import { answerWithinMs } from './trader.js';

export async function gainLogin(tenant: Tenant, url: string): Promise<void> {
  const { state, email } = tenant;
  const answer = await logIn(url, email, state.password).catch(() => undefined);
  if (answer?.token === undefined || answer.sessionToken === undefined) return;
  tenant.learn({
    ...state,
    tokens: gained(state.tokens, answer.token),
    sessions: gained(state.sessions, answer.sessionToken),
  });
}

/** Without an answer the key may exist, but its secret is unknown. */
export async function gainKey(tenant: Tenant, url: string): Promise<void> {
  const { state } = tenant;
  const token = state.tokens.find(({ isValid }) => isValid);
  if (token === undefined) return gainLogin(tenant, url);
  try {
    const { status, body } = await call(url, 'POST', '/api/api-keys', {
      headers: { ...json, ...bearer(token.text) },
      body: JSON.stringify({ name: 'a key', scopes: ['events:read'] }),
      signal: AbortSignal.timeout(answerWithinMs),
    });
    if (status === 201) tenant.learn({ ...state, keys: gained(state.keys, body.key, body.id) });
  } catch {
    // The gateway is gone.
  }
}

export async function deleteKey(tenant: Tenant, url: string, chance: Chance): Promise<void> {
  const { state } = tenant;
  const token = state.tokens.find(({ isValid }) => isValid);
  const valid = state.keys.filter(({ isValid }) => isValid);
  if (token === undefined || valid.length === 0) return gainKey(tenant, url);
  const key = chance.pick(valid);
  tenant.begin({ ...state, keys: revoked(state.keys, key) });
  tenant.end(await askToDelete(url, key, token));
}

export async function askToDelete(
  url: string,
  key: Credential,
  token: Credential,
): Promise<Ending> {
  try {
    const { status } = await call(url, 'DELETE', `/api/api-keys/${key.id}`, {
      headers: bearer(token.text),
      signal: AbortSignal.timeout(answerWithinMs),
    });
    if (status === 204) return 'confirmed';
    return status === 500 ? 'cut off' : 'refused';
  } catch {
    return 'cut off';
  }
}
