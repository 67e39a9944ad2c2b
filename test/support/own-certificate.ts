/**
 * A certificate authority of the test's own, and a server's certificate signed by it. Both have the extensions that
 * RFC 5280 demands: Python 3.13 refuses a chain without them (`VERIFY_X509_STRICT`).
 */
import { webcrypto } from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { dayMs } from '../../src/lib/durations.js';

export interface Issued {
  /** What a client has to trust. */
  readonly authority: string;
  /** The server's certificate and its authority's, as a server presents them. */
  readonly chain: string;
  readonly key: string;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** @param names host names, `*.example.com` among them; 127.0.0.1 and localhost are always there. */
export async function issueCertificate(...names: string[]): Promise<Issued> {
  const [signer, own] = await Promise.all([newKeys(), newKeys()]);
  const name = 'CN=Test authority';
  const validity = { notBefore: new Date(), notAfter: new Date(Date.now() + 365 * dayMs) };
  const authority = await X509CertificateGenerator.createSelfSigned({
    name,
    ...validity,
    keys: signer,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(signer.publicKey),
    ],
  });
  const server = await X509CertificateGenerator.create({
    subject: 'CN=localhost',
    issuer: name,
    ...validity,
    publicKey: own.publicKey,
    signingKey: signer.privateKey,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      await AuthorityKeyIdentifierExtension.create(signer.publicKey),
      new SubjectAlternativeNameExtension([
        { type: 'ip', value: '127.0.0.1' },
        ...['localhost', ...names].map((value) => ({ type: 'dns' as const, value })),
      ]),
    ],
  });
  const key = await webcrypto.subtle.exportKey('pkcs8', own.privateKey);
  return {
    authority: `${authority.toString('pem')}\n`,
    chain: `${server.toString('pem')}\n${authority.toString('pem')}\n`,
    key: `${PemConverter.encode(key, PemConverter.PrivateKeyTag)}\n`,
  };
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}
