/** A certificate authority of the test's own, and a server's certificate signed by it. */
import { generate } from 'selfsigned';

export interface Issued {
  /** What a client has to trust. */
  readonly authority: string;
  /** The server's certificate and its authority's, as a server presents them. */
  readonly chain: string;
  readonly key: string;
}

/** @param names host names, `*.example.com` among them; 127.0.0.1 and localhost are always there. */
export async function issueCertificate(...names: string[]): Promise<Issued> {
  const authority = await generate([{ name: 'commonName', value: 'Test authority' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  const server = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    ca: { key: authority.private, cert: authority.cert },
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 7, ip: '127.0.0.1' },
          ...['localhost', ...names].map((value) => ({ type: 2 as const, value })),
        ],
      },
    ],
  });
  return {
    authority: authority.cert,
    chain: `${server.cert.trimEnd()}\n${authority.cert.trimEnd()}\n`,
    key: server.private,
  };
}
