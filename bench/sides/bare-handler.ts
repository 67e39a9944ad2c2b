/** Starts the bare handler of constant.ts with an answer that the gateway really gave. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { type Side, startSide } from '../measure/side.js';
import type { ConstantAnswer } from './constant.js';

const program = fileURLToPath(new URL('./constant.js', import.meta.url));
/** What the native server writes by itself, or the client asked for. */
const notOurs = ['date', 'content-length', 'uwebsockets', 'connection', 'keep-alive'];

export function startBareHandler(answer: ConstantAnswer): Promise<Side> {
  return startSide({ name: 'bare uWS handler', program, args: [JSON.stringify(answer)] });
}

/** Asks once, over the wire. @param sent a whole request with its body. */
export async function answerTo(
  url: string,
  sent: { method: string; path: string; headers: Record<string, string>; body?: string },
): Promise<ConstantAnswer> {
  const { method, path, headers, body } = sent;
  const asked = request(new URL(path, url), { method, headers, agent: false });
  asked.end(body);
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of answer.setEncoding('utf8')) text += String(chunk);
  const pairs = Array.from({ length: answer.rawHeaders.length / 2 }, (_, i) => {
    return [answer.rawHeaders[2 * i] as string, answer.rawHeaders[2 * i + 1] as string] as const;
  });
  return {
    statusLine: `${answer.statusCode ?? 0} ${answer.statusMessage ?? ''}`,
    headers: pairs.filter(([name]) => !notOurs.includes(name.toLowerCase())),
    body: text,
  };
}
