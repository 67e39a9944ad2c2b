/** Starts the bare handler of constant.ts with an answer that the gateway really gave. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { addressOf } from '../load/raw-socket.js';
import { type Side, startSide } from '../measure/side.js';
import type { ConstantAnswer } from './constant.js';

const program = fileURLToPath(new URL('./constant.js', import.meta.url));
/** What the native server writes by itself. */
const native = ['date', 'content-length', 'uwebsockets'];

export function startBareHandler(answer: ConstantAnswer): Promise<Side> {
  return startSide({ name: 'bare uWS handler', program, args: [JSON.stringify(answer)] });
}

/** Sends a request's bytes once. @returns what the bare handler has to write to answer the same. */
export async function answerTo(url: string, request: Uint8Array): Promise<ConstantAnswer> {
  const socket = connect(addressOf(url)).setEncoding('latin1');
  await once(socket, 'connect');
  socket.write(request);
  let text = '';
  let answer: ConstantAnswer | undefined;
  while (answer === undefined) {
    const [chunk] = (await once(socket, 'data')) as [string];
    text += chunk;
    answer = parse(text);
  }
  socket.destroy();
  return answer;
}

/** @returns undefined as long as a part is missing. */
function parse(text: string): ConstantAnswer | undefined {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const [statusLine = '', ...lines] = text.slice(0, headEnd).split('\r\n');
  const headers = lines.map((line) => {
    const colon = line.indexOf(': ');
    return [line.slice(0, colon), line.slice(colon + 2)] as const;
  });
  const length = headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1];
  const body = text.slice(headEnd + 4);
  if (body.length < Number(length ?? 0)) return undefined;
  return {
    statusLine: statusLine.slice(statusLine.indexOf(' ') + 1),
    headers: headers.filter(([name]) => !native.includes(name.toLowerCase())),
    body,
  };
}
