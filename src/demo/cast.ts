/**
 * Sets up the participants of the demo: a user with an API key, and a paper terminal of each platform. They
 * use real sockets, as on different machines.
 */
import { dayMs } from '../lib/durations.js';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as rest } from 'node:timers/promises';
import { addUser, findUser, setUser } from '../auth/accounts.js';
import { systemClock, toIsoTime } from '../lib/clock.js';
import { createIdSource, randomSecret } from '../lib/ids.js';
import type { SourceName } from '../model/source-name.js';
import { prepareDataDirectory } from '../store/data-directory.js';
import { lockDirectory } from '../store/directory-lock.js';
import { openStore } from '../store/lmdb-store.js';
import { createPaperTerminal, type PaperTerminal } from '../terminal/paper-terminal.js';
import { hash } from '../workers/hash-worker.js';
import { check } from './screen.js';

const patienceMs = 10_000;

export const email = 'demo@example.com';
export const futuresDesk: SourceName = {
  platform: 'terminal_a',
  instanceId: 'desk-1',
  accountName: 'Sim101',
};
export const currencyDesk: SourceName = {
  platform: 'terminal_b',
  instanceId: 'desk-2',
  accountName: '4711@Paper-Server',
};

/** Creates a data directory that is removed after the demo. */
export function temporaryDataDir(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'signalbox-demo-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Creates the demo's user, or sets a new password for an existing one. @returns the password. */
export async function prepareUser(dataDir: string): Promise<string> {
  const password = randomSecret(12);
  const passwordHash = hash(password);
  const plan = 'business';
  prepareDataDirectory(dataDir);
  const lock = await lockDirectory(dataDir, 'command');
  const store = openStore(dataDir);
  try {
    if (findUser(store, email) === undefined) {
      const user = { email, plan, passwordHash, confirmed: true, now: systemClock.now() };
      await addUser(store, createIdSource(systemClock), user);
    } else {
      await setUser(store, email, { passwordHash, plan, frozen: false });
    }
    return password;
  } finally {
    await store.close();
    lock.release();
  }
}

export interface Credentials {
  readonly token: string;
  readonly sessionToken: string;
}

export async function logIn(url: string, password: string): Promise<Credentials> {
  const response = await post(`${url}/api/auth/login`, { email, password });
  check(response.status === 200, `the login was answered with ${response.status}`);
  return (await response.json()) as Credentials;
}

const keyName = 'demo';

/** Creates a key that expires after a day, and revokes that of an earlier demo. @returns its secret. */
export async function createKey(url: string, token: string): Promise<string> {
  const address = `${url}/api/api-keys`;
  const headers = { authorization: `Bearer ${token}` };
  const listed = await fetch(address, { headers });
  for (const { id, name } of (await listed.json()) as { id: number; name: string }[]) {
    if (name === keyName) await fetch(`${address}/${id}`, { method: 'DELETE', headers });
  }
  const scopes = ['signals:write', 'signals:read', 'orders:cancel', 'events:read'];
  const expiresAt = toIsoTime(systemClock.now() + dayMs);
  const response = await post(address, { name: keyName, scopes, expiresAt }, headers);
  check(response.status === 201, `the new key was answered with ${response.status}`);
  return ((await response.json()) as { key: string }).key;
}

/** Sends it again while the gateway refuses it for a while, as when the disk hangs. */
async function post(
  url: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<Response> {
  const end = systemClock.monotonic() + patienceMs;
  for (;;) {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    if (response.status !== 503 || systemClock.monotonic() > end) return response;
    await response.body?.cancel();
    await rest(Number(response.headers.get('retry-after')) * 1000);
  }
}

/** Starts a paper terminal and waits for its welcome. Rejects when the gateway refuses it for good. */
export function openTerminal(
  url: string,
  sessionToken: string,
  source: SourceName,
): Promise<PaperTerminal> {
  return new Promise((resolve, reject) => {
    const terminal = createPaperTerminal({
      url,
      token: () => sessionToken,
      source,
      clock: systemClock,
      observer: (activity) => {
        if (activity.kind === 'connected') resolve(terminal);
        if (activity.kind === 'refused') reject(new Error(activity.message));
      },
    });
    terminal.start();
  });
}
