/** Whether the API port carries passwords and keys in the clear to other machines. */
import { isLoopback } from '../lib/host.js';

interface ListenSettings {
  readonly host: string;
  readonly tlsCert: string | undefined;
}

/** @returns what the operator has to know and do; undefined where nothing leaves the machine unencrypted. */
export function exposureOf({ host, tlsCert }: ListenSettings): string | undefined {
  if (tlsCert !== undefined || isLoopback(host)) return undefined;
  return (
    `The API port is open to other machines on ${host} without TLS: passwords and API keys can be read on the way. ` +
    'Set --tls-cert and --tls-key, or listen on 127.0.0.1 behind a proxy that terminates TLS ' +
    '(ops/haproxy). If only that proxy can reach the port, ignore this warning.'
  );
}
