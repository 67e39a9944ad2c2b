/**
 * Validates the TLS files: both present, readable, PEM, and a matching pair. The native server would start with
 * invalid files and then reject every handshake.
 */
import { errorText } from '../lib/error-text.js';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Report } from './config-file.js';

const rsaBitsMin = 2048;

export function checkTlsPair(
  certPath: string | undefined,
  keyPath: string | undefined,
  readFile: (path: string) => string,
  report: Report,
): void {
  if (certPath === undefined && keyPath === undefined) return;
  if (certPath === undefined || keyPath === undefined) {
    const [given, missing] = certPath === undefined ? ['tlsKey', 'tlsCert'] : ['tlsCert', 'tlsKey'];
    report(
      missing,
      `"${given}" is given without "${missing}": TLS needs a certificate and its key.`,
    );
    return;
  }
  const certificate = parse(
    'tlsCert',
    `The certificate ${certPath} cannot be used`,
    () => new X509Certificate(readFile(certPath)),
    report,
  );
  const key = parse(
    'tlsKey',
    `The private key ${keyPath} cannot be used`,
    () => createPrivateKey(readFile(keyPath)),
    report,
  );
  if (certificate === undefined || key === undefined) return;
  if (!certificate.checkPrivateKey(key)) {
    report('tlsKey', `The private key ${keyPath} does not belong to the certificate ${certPath}.`);
  }
  const { modulusLength = rsaBitsMin } = key.asymmetricKeyDetails ?? {};
  if (modulusLength < rsaBitsMin) {
    report(
      'tlsKey',
      `The private key ${keyPath} has ${modulusLength} bits, which clients refuse: an RSA key needs ${rsaBitsMin}.`,
    );
  }
}

function parse<T>(setting: string, refusal: string, read: () => T, report: Report): T | undefined {
  try {
    return read();
  } catch (error) {
    const reason = errorText(error);
    report(
      setting,
      `${refusal}: ${reason}. Give the path of a PEM file that can be read, a key without a passphrase.`,
    );
    return undefined;
  }
}
