/**
 * Program: a bare uWS handler that answers every request with the same bytes and reads nothing of it.
 * The argument is the answer as JSON; the native server adds Date, Content-Length and its own name,
 * as it does for the gateway. The limit of what the gateway could reach, and the known speed that
 * load generators are held against.
 */
import { createApp, listen } from '../../src/http/uws.js';

/** An answer as the bare handler writes it. */
export interface ConstantAnswer {
  readonly statusLine: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

const { statusLine, headers, body } = JSON.parse(process.argv[2] as string) as ConstantAnswer;
const host = '127.0.0.1';
const app = createApp(undefined);
app.any('/*', (res) => {
  res.writeStatus(statusLine);
  for (const [name, value] of headers) res.writeHeader(name, value);
  res.end(body);
});
const listener = await listen(app, host, 0);
console.log(JSON.stringify({ url: `http://${host}:${listener.port}` }));
