/**
 * Asks the ops port as a Prometheus does, on a new connection each time: the gateway may close a kept
 * connection just as a busy test writes to it again.
 */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

export interface OpsAnswer {
  readonly status: number;
  readonly text: string;
}

export async function askOps(opsUrl: string, path: '/metrics' | '/readyz'): Promise<OpsAnswer> {
  const [response] = (await once(get(opsUrl + path, { agent: false }), 'response')) as [
    IncomingMessage,
  ];
  return { status: response.statusCode as number, text: await text(response) };
}
