import { gzipSync } from 'node:zlib';
import t from 'tap';
import { SecretSearch } from './secret-search.js';

const password = 'Ünlike "any\\other" pass word?';
const key = `svc_api_${'Q7aZ_x-4'.repeat(6).slice(0, 43)}`;

function found(content: string | Uint8Array, isDocumented = false): string[] {
  const search = new SecretSearch();
  search.add('password', password);
  search.add('key', key, 14);
  search.look('here', content, isDocumented);
  return [...new Set(search.findings.map(({ secret }) => secret))];
}

t.test('a planted secret is found in every spelling, whole or in part', async (t) => {
  // oxfmt-ignore
  const plantings: Record<string, (secret: string) => string | Uint8Array> = {
    raw: (secret) => `before${secret}after`,
    'in bytes that are no text': (secret) => Buffer.concat([Buffer.from([0xff, 0, 0xc3]), Buffer.from(secret), Buffer.from([0xfe])]),
    'in JSON': (secret) => JSON.stringify({ a: secret }),
    'in JSON within JSON': (secret) => JSON.stringify({ a: JSON.stringify({ b: secret }) }),
    'in a URL': (secret) => `/path?x=${encodeURIComponent(secret)}`,
    'in a form': (secret) => new URLSearchParams({ a: secret }).toString(),
    'in hex': (secret) => Buffer.from(`x${secret}`).toString('hex'),
    'in base64': (secret) => Buffer.from(secret).toString('base64'),
    'in base64, after one byte': (secret) => Buffer.from(`x${secret}y`).toString('base64'),
    'in base64, after two bytes': (secret) => Buffer.from(`xx${secret}yy`).toString('base64'),
    'in base64url, after a word': (secret) => Buffer.from(`user:${secret}`).toString('base64url'),
    'in UTF-16': (secret) => Buffer.from(secret, 'utf16le'),
    'its end alone': (secret) => secret.slice(-12),
  };
  for (const [name, plant] of Object.entries(plantings)) {
    t.same(found(plant(password)), ['password'], name);
    t.ok(found(plant(key)).includes('key'), name);
  }
  t.same(found(password.slice(0, 12)), ['password'], 'its beginning alone');
});

t.test('what is no secret is not found', async (t) => {
  t.same(found(''), []);
  t.same(found(`${key.slice(0, 14)}...`), [], 'what lists show of an API key');
  t.same(found('sbs_ svc_api_ eyJ'), [], 'prefixes');
  t.same(found(password.slice(0, 11)), [], 'less than can be used');
  t.same(found(gzipSync(password)), [], 'what is compressed is not looked into');
});

t.test('a credential that nobody told of is known by its form', async (t) => {
  t.same(found(`svc_api_${'b'.repeat(7)}`), ['any API key']);
  t.same(found(`x sbs_${'b'.repeat(43)}`), ['any session token']);
  t.same(found('eyJhbGciOiJI.eyJzdWIiOiJ1'), ['any user token']);
  t.same(found(`sbs_${'b'.repeat(43)}`, true), [], 'but may stand where it is given out');
});
