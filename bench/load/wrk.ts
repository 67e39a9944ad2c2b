/** wrk, a load generator in C that others trust, as a second opinion on our own. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export interface WrkSpec {
  readonly url: string;
  /** The bytes of a GET; wrk sends its request line and headers again and again. */
  readonly request: Uint8Array;
  readonly connections: number;
  readonly seconds: number;
}

/** @returns answers a second, over one thread and a closed loop. */
export async function runWrk({ url, request, connections, seconds }: WrkSpec): Promise<number> {
  const [requestLine = '', ...lines] = Buffer.from(request).toString('latin1').trim().split('\r\n');
  const path = requestLine.split(' ')[1] ?? '/';
  const { stdout } = await promisify(execFile)('wrk', [
    ...['-t', '1', '-c', String(connections), '-d', `${Math.ceil(seconds)}s`],
    ...lines.flatMap((line) => ['-H', line]),
    new URL(path, url).href,
  ]);
  const perSecond = /^Requests\/sec:\s+([\d.]+)$/m.exec(stdout)?.[1];
  if (perSecond === undefined) throw new Error(`wrk said something else:\n${stdout}`);
  return Number(perSecond);
}
