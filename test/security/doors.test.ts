/**
 * Every door of the gateway against every credential: each opens for one kind only, in one place of the
 * request only. The doors are made from the route table, so that a new route is tested, too.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { pluginPath, subprotocol } from '../../src/plugins/protocol.js';
import { routes, type Route } from '../../src/routes.js';
import { startTestGateway } from '../support/gateway.js';
import { password } from '../support/gateway-process.js';
import { rawCall, type RawAnswer } from '../support/raw-client.js';

const gateway = await startTestGateway(t, { users: 1 });
const user = await gateway.user();
const secret = readFileSync(join(gateway.dataDir, 'jwt-secret'), 'utf8').trim();

/** What a door asks for; `session` is the plugin socket's. */
type Lock = Route['credential'] | 'session';

interface Door {
  readonly name: string;
  readonly lock: Lock;
  readonly method: string;
  readonly path: string;
  readonly lines: readonly string[];
  /** Status and code of the refusal. */
  readonly refusal: string;
}

const refusals: Readonly<Record<Lock, string>> = {
  none: 'never',
  'user-token': '401 invalid_token',
  'api-key': '401 invalid_api_key',
  session: '401 ',
};

const doors: readonly Door[] = [
  ...routes.flatMap((route): Door[] => {
    const methods = route.method === 'GET' ? ['GET', 'HEAD'] : [route.method];
    return methods.map((method) => ({
      name: `${method} ${route.path}`,
      lock: route.credential,
      method,
      // No key has the id 0: a request that gets in must not revoke a key of the test.
      path: route.path.replace(/:\w+/, '0'),
      lines: [],
      // A HEAD has no body to tell a code in.
      refusal: method === 'HEAD' ? '401 ' : refusals[route.credential],
    }));
  }),
  {
    name: 'the plugin socket',
    lock: 'session',
    method: 'GET',
    path: pluginPath,
    lines: [
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      'Sec-WebSocket-Version: 13',
      `Sec-WebSocket-Protocol: ${subprotocol}`,
    ],
    refusal: refusals.session,
  },
];

const credentials: Readonly<Record<Exclude<Lock, 'none'>, string>> = {
  'user-token': user.token,
  'api-key': user.key,
  session: user.sessionToken,
};

/** What a thief may have read from a list, a disk or memory, and what is no credential at all. */
const noCredentials: Readonly<Record<string, string>> = {
  'the password': password,
  'the hash under which the store keeps the API key': hashOf(user.key),
  'the hash of the session token': hashOf(user.sessionToken),
  'an API key made of the hash': `svc_api_${hashOf(user.key)}`,
  'a session token made of the API key': `sbs_${user.key.slice('svc_api_'.length)}`,
  'an API key made of the session token': `svc_api_${user.sessionToken.slice('sbs_'.length)}`,
  'what a list shows of the API key': `${user.key.slice(0, 14)}...`,
  'the secret that signs user tokens': secret,
  'the id of the API key': `${user.keyId}`,
  'the email': user.email,
};

/** Places in which a credential does not count. */
const places: Readonly<Record<string, (text: string) => { line?: string; query?: string }>> = {
  'as Basic': (text) => ({
    line: `Authorization: Basic ${Buffer.from(`user:${text}`).toString('base64')}`,
  }),
  'as Basic with nothing but itself': (text) => ({
    line: `Authorization: Basic ${Buffer.from(text).toString('base64')}`,
  }),
  'as Token': (text) => ({ line: `Authorization: Token ${text}` }),
  'without a scheme': (text) => ({ line: `Authorization: ${text}` }),
  'as Bearer in Proxy-Authorization': (text) => ({ line: `Proxy-Authorization: Bearer ${text}` }),
  'in X-Api-Key': (text) => ({ line: `X-Api-Key: ${text}` }),
  'in X-Authorization': (text) => ({ line: `X-Authorization: Bearer ${text}` }),
  'in a cookie': (text) => ({ line: `Cookie: token=${text}; session=${text}` }),
  'as access_token in the query': (text) => ({ query: `access_token=${text}` }),
  'as key in the query': (text) => ({ query: `key=${text}&token=${text}&apiKey=${text}` }),
  'as a subprotocol': (text) => ({ line: `Sec-WebSocket-Protocol: bearer, ${text}` }),
};

async function knock(door: Door, line?: string, query = ''): Promise<string> {
  const path = query === '' ? door.path : `${door.path}?${query}`;
  const lines = line === undefined ? door.lines : [...door.lines, line];
  return told(await rawCall(gateway.url, door.method, path, lines));
}

/** @returns status and code, such as `401 invalid_token` or `200 `. */
function told(answer: RawAnswer | undefined): string {
  if (answer === undefined) return 'no answer';
  const code = /"code":"(\w+)"/.exec(answer.body)?.[1] ?? '';
  return `${answer.status} ${answer.status < 400 ? '' : code}`;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

t.test('each door opens for its own credential alone', async (t) => {
  for (const door of doors) {
    const closed = await knock(door);
    if (door.lock !== 'none') t.equal(closed, door.refusal, `${door.name} without a credential`);
    for (const [kind, text] of Object.entries(credentials)) {
      const answer = await knock(door, `Authorization: Bearer ${text}`);
      const name = `${door.name} with ${kind}`;
      if (door.lock === 'none') t.equal(answer, closed, name);
      else if (door.lock !== kind) t.equal(answer, door.refusal, name);
      else t.notMatch(answer, /^401 |^404 not_found$|^no answer/, name);
    }
  }
});

t.test('nothing that merely belongs to a credential opens a door', async (t) => {
  for (const door of doors.filter(({ lock }) => lock !== 'none')) {
    for (const [what, text] of Object.entries(noCredentials)) {
      const answer = await knock(door, `Authorization: Bearer ${text}`);
      t.equal(answer, door.refusal, `${door.name} with ${what}`);
    }
  }
});

t.test('the right credential in another place is none', async (t) => {
  for (const door of doors) {
    if (door.lock === 'none') continue;
    for (const [place, put] of Object.entries(places)) {
      const { line, query } = put(credentials[door.lock]);
      t.equal(await knock(door, line, query), door.refusal, `${door.name}, ${place}`);
    }
  }
});

t.test('the ops port has no credential, and none changes what it says', async (t) => {
  for (const path of ['/healthz', '/readyz', '/nothing']) {
    const plain = await rawCall(gateway.process.opsUrl, 'GET', path);
    for (const text of Object.values(credentials)) {
      const line = `Authorization: Bearer ${text}`;
      const answer = await rawCall(gateway.process.opsUrl, 'GET', path, [line]);
      t.equal(answer?.status, plain?.status, path);
      t.equal(answer?.body, plain?.body, path);
    }
  }
});

t.test('there is one socket, and no door beside the table', async (t) => {
  const source = join(import.meta.dirname, '../../../src');
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' });
  const text = (file: string) => readFileSync(join(source, file), 'utf8');
  const modules = files.filter((file) => file.endsWith('.ts'));
  t.same(
    modules.filter((file) => /\bapp\.ws\b/.test(text(file))),
    ['plugins/socket.ts'],
  );
  t.same(
    modules.filter((file) =>
      /\bapp\.(?:get|post|put|patch|del|any|head|options)\(/.test(text(file)),
    ),
    ['http/server.ts'],
  );
});
