import t from 'tap';
import { checkTlsPair } from '../../src/settings/tls-pair.js';

// Made for these tests and used nowhere else: a key with its certificate, and a stranger's key.
const files: Record<string, string> = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBfjCCASWgAwIBAgIUNh4EKGFbfF4QWIHLGsQqQ52E85EwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTEyMDA1NFoYDzIxMjYxMDI4
MTIwMDU0WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARY+DNkFwchzJlhtLyBGg7ZfX6RRwFSw92ArgPC4AZZfACGST1JUe1T
YpOwF7fhBiErgdyl50MhDnnFcf4HZ6BUo1MwUTAdBgNVHQ4EFgQUafQy4XL2oOj9
KJqxpFrGLaGSenowHwYDVR0jBBgwFoAUafQy4XL2oOj9KJqxpFrGLaGSenowDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNHADBEAiBXvLISVGks1KmPn9ytI4DZ
BoAfDtC4nClAROrs7ud0KAIga0EtCWUsPb/w3Fh+lFPyLvC8zBwOjNQOeFT67iq2
ofI=
-----END CERTIFICATE-----`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgVZYIbVvc5MeDTnku
pLxDbguurSYp1tZTLoGKguLMPeihRANCAARY+DNkFwchzJlhtLyBGg7ZfX6RRwFS
w92ArgPC4AZZfACGST1JUe1TYpOwF7fhBiErgdyl50MhDnnFcf4HZ6BU
-----END PRIVATE KEY-----`,
  stranger: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgsJ8by11D/fp87KYQ
TBKgFku1cejLIZ/3ErUPKypswhihRANCAARUJfez6rzfiuWIN8CXwJj8uzcGqPJq
0+jxjcXR0bx4Z4LLOHpCsWboPGHZ26OOUzRFkoHTFw5AvAvpd1VNeqTk
-----END PRIVATE KEY-----`,
  text: 'hello',
};

function check(cert: string | undefined, key: string | undefined): string[] {
  const found: string[] = [];
  const readFile = (path: string): string => files[path] ?? '';
  checkTlsPair(cert, key, readFile, (setting, message) => found.push(`${setting}: ${message}`));
  return found;
}

t.test('no files are plain HTTP; a certificate with its own key is TLS', (t) => {
  t.same(check(undefined, undefined), []);
  t.same(check('cert', 'key'), []);
  t.end();
});

t.test('files that could not serve one handshake are refused by name', (t) => {
  t.match(check('cert', 'stranger'), [
    /^tlsKey: .*stranger does not belong to the certificate cert/,
  ]);
  t.match(check('text', 'key'), [/^tlsCert: The certificate text cannot be used/]);
  t.match(check('cert', 'text'), [/^tlsKey: The private key text cannot be used/]);
  t.match(check('text', 'text'), [/^tlsCert/, /^tlsKey/]);
  t.match(check('cert', undefined), [/^tlsKey: "tlsCert" is given without "tlsKey"/]);
  t.match(check(undefined, 'key'), [/^tlsCert: "tlsKey" is given without "tlsCert"/]);
  t.end();
});
