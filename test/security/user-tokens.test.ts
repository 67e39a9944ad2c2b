/**
 * Every alteration of a user token is refused with the one documented answer.
 * test/http/gate-credentials.test.ts has forgeries of the algorithm, the key and the claims; this file has
 * other spellings, headers that libraries act on, and tokens that the right secret signed but the gateway
 * never wrote.
 */
import { generateKeyPairSync, sign } from 'node:crypto';
import t from 'tap';
import { encoded, openToken, respelt, signText, signToken } from '../support/token-forgery.js';
import { get, verdict } from '../support/api.js';
import { startTestGateway } from '../support/gateway.js';

const secret = 'a-secret-of-the-test-that-is-long-enough-to-be-one';
const gateway = await startTestGateway(t, { environment: { SIGNALBOX_JWT_SECRET: secret } });
const keys = '/api/api-keys';
const { token } = await gateway.user();
const stranger = openToken((await gateway.user()).token);
const { header, claims, signature } = openToken(token);
const [headerPart = '', claimsPart = ''] = token.split('.');
const now = Math.floor(Date.now() / 1000);

/** The JSON text of an object with one more user, before the others or behind them. */
const withFirst = (text: string, user: string) => `{${user},${text.slice(1)}`;
const withLast = (text: string, user: string) => `${text.slice(0, -1)},${user}}`;
const changed = (text: string, fields: object) =>
  JSON.stringify({ ...(JSON.parse(text) as object), ...fields });

const ownKey = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ownJwk = JSON.stringify(ownKey.publicKey.export({ format: 'jwk' }));
const signedByOwnKey = (head: string) => {
  const text = `${encoded(head)}.${claimsPart}`;
  return `${text}.${sign('sha256', Buffer.from(text), ownKey.privateKey).toString('base64url')}`;
};
const { sub } = JSON.parse(stranger.claims) as { sub: string };

/** Tokens that can be made from a valid one, without the secret. */
// oxfmt-ignore
const bySpelling: Record<string, string | undefined> = {
  'the header in another spelling': respelt(headerPart) === undefined ? undefined : `${respelt(headerPart)}.${claimsPart}.${signature}`,
  'the claims in another spelling': respelt(claimsPart) === undefined ? undefined : `${headerPart}.${respelt(claimsPart)}.${signature}`,
  'the signature in another spelling': `${headerPart}.${claimsPart}.${respelt(signature)}`,
  'padding behind the signature': `${token}=`,
  'padding behind the claims': `${headerPart}.${claimsPart}=.${signature}`,
  'the signature in standard base64': `${headerPart}.${claimsPart}.+/${signature.slice(2)}`,
  'a line break, percent-encoded': `${headerPart}.${claimsPart}.${signature.slice(0, 8)}%0A${signature.slice(8)}`,
  'a letter more': `${token}A`,
  'four letters more': `${token}AAAA`,
  'a segment more': `${token}.${claimsPart}`,
  'an empty segment more': `${token}.`,
  'an empty segment before': `.${token}`,
  'five segments, as an encrypted one': `${token}.${claimsPart}.${signature}`,
  'the token twice': `${token}${token}`,
  'cut in the middle of the claims': token.slice(0, headerPart.length + 20),
  'cut in the middle of the signature': token.slice(0, -10),
  'without its header': `.${claimsPart}.${signature}`,
  'without its claims': `${headerPart}..${signature}`,
  'in capitals': token.toUpperCase(),
  'the claims of a stranger': `${headerPart}.${encoded(stranger.claims)}.${signature}`,
  'the signature of a stranger': `${headerPart}.${claimsPart}.${stranger.signature}`,
  'the user twice, the stranger last': `${headerPart}.${encoded(withLast(claims, `"sub":"${sub}"`))}.${signature}`,
  'a key of one\'s own, named in jwk': signedByOwnKey(withLast(header, `"jwk":${ownJwk}`)),
  'a key of one\'s own, named in jku': signedByOwnKey(withLast(header, '"jku":"http://127.0.0.1:1/keys"')),
  'a key of one\'s own, named in kid': signedByOwnKey(withLast(header, '"kid":"../../../../dev/null"')),
  'an empty key, named in kid': signToken(withLast(header, '"kid":"/dev/null"'), claims, ''),
  'two algorithms, none last': `${encoded(withLast(header, '"alg":"none"'))}.${claimsPart}.`,
  'two algorithms, none first': `${encoded(withFirst(header, '"alg":"none"'))}.${claimsPart}.`,
  'as long as a head may be': `${headerPart}.${claimsPart}${'A'.repeat(3_000)}.${signature}`,
};

/** Tokens that the right secret signed and login never wrote, as if another program shared the secret. */
// oxfmt-ignore
const bySecret: Record<string, string> = {
  'HS384': signToken(changed(header, { alg: 'HS384' }), claims, secret, 'sha384'),
  'no type': signToken('{"alg":"HS256"}', claims, secret),
  'header members in another order': signToken('{"typ":"user+jwt","alg":"HS256"}', claims, secret),
  'kid': signToken(withLast(header, '"kid":"1"'), claims, secret),
  'jku': signToken(withLast(header, '"jku":"https://example.com/keys"'), claims, secret),
  'x5u': signToken(withLast(header, '"x5u":"https://example.com/certificate"'), claims, secret),
  'jwk': signToken(withLast(header, `"jwk":${ownJwk}`), claims, secret),
  'cty, a token within the token': signToken(withLast(header, '"cty":"JWT"'), claims, secret),
  'crit of something unknown': signToken(withLast(header, '"crit":["b64"],"b64":true'), claims, secret),
  'crit that is empty': signToken(withLast(header, '"crit":[]'), claims, secret),
  'zip': signToken(withLast(header, '"zip":"DEF"'), claims, secret),
  'the algorithm twice': signToken(withLast(header, '"alg":"HS256"'), claims, secret),
  'a space in the header': signToken(header.replace(',', ', '), claims, secret),
  'the header with padding': signText(`${headerPart}=.${claimsPart}`, secret),
  'the user twice': signToken(header, withFirst(claims, `"sub":"${sub}"`), secret),
  'the generation twice': signToken(header, withFirst(claims, '"gen":9'), secret),
  'the audience twice': signToken(header, withFirst(claims, '"aud":"signalbox:user"'), secret),
  'no user': signToken(header, changed(claims, { sub: undefined }), secret),
  'a list of users': signToken(header, changed(claims, { sub: [sub] }), secret),
  'a user that is a name of a prototype': signToken(header, changed(claims, { sub: '__proto__' }), secret),
  'the user of nobody': signToken(header, changed(claims, { sub: 'usr_00000000000000000000000000' }), secret),
  'another audience': signToken(header, changed(claims, { aud: 'signalbox:session' }), secret),
  'ours among several audiences': signToken(header, changed(claims, { aud: ['signalbox:user', 'other'] }), secret),
  'a scope': signToken(header, changed(claims, { scope: 'signals:write' }), secret),
  'an issuer': signToken(header, changed(claims, { iss: 'signalbox' }), secret),
  'another generation': signToken(header, changed(claims, { gen: 2 }), secret),
  'the generation as text': signToken(header, changed(claims, { gen: '1' }), secret),
  'not valid yet': signToken(header, changed(claims, { nbf: now + 3_600 }), secret),
  'valid since long ago': signToken(header, changed(claims, { nbf: now - 3_600 }), secret),
  'expired': signToken(header, changed(claims, { exp: now - 1, until: (now - 1) * 1000 }), secret),
  'an end for readers that is not the end': signToken(header, changed(claims, { exp: now + 1e9 }), secret),
  'no end': signToken(header, changed(claims, { exp: undefined, until: undefined }), secret),
  'an end beyond all numbers': signToken(header, claims.replace(/"until":\d+/, '"until":1e400'), secret),
  'no time of issue': signToken(header, changed(claims, { iat: undefined }), secret),
  'a time of issue that is text': signToken(header, changed(claims, { iat: 'now' }), secret),
  'claims that are a list': signToken(header, `[${claims}]`, secret),
  'claims that are null': signToken(header, 'null', secret),
  'claims that are no JSON': signToken(header, claims.slice(0, -1), secret),
  'a header that is no JSON': signToken(header.slice(0, -1), claims, secret),
  'a header that is null': signToken('null', claims, secret),
  'invalid UTF-8 in the claims': signText(`${headerPart}.${Buffer.from(withLast(claims, '"x":"\xff"'), 'latin1').toString('base64url')}`, secret),
  'more than a token of ours can hold': signToken(header, withLast(claims, `"x":"${'x'.repeat(1_000)}"`), secret),
};

t.test(
  'what is signed as it was is the token again, so that each row differs as it says',
  async (t) => {
    t.equal(signToken(header, claims, secret), token);
    t.equal(
      (await get(gateway.url, keys, signToken(header, changed(claims, {}), secret))).status,
      200,
    );
    t.ok(respelt(signature), 'a signature of 32 bytes has a second spelling');
  },
);

for (const [who, table] of Object.entries({ bySpelling, bySecret })) {
  t.test(`no altered user token opens the key endpoints (${who})`, async (t) => {
    for (const [name, altered] of Object.entries(table)) {
      // A segment whose length is a multiple of three has no second spelling.
      if (altered === undefined) continue;
      t.not(altered, token, name);
      const answer = await get(gateway.url, keys, altered);
      t.equal(verdict(answer), '401 invalid_token', name);
      t.same(Object.keys(answer.body), ['code', 'message'], name);
    }
  });
}

t.test(
  'the token itself still opens them, and none of this was an error of the gateway',
  async (t) => {
    t.equal((await get(gateway.url, keys, token)).status, 200);
    t.notMatch(gateway.process.log(), /"level":"(?:error|fatal)"/);
  },
);
