/**
 * Program: the ceiling of `submit`, the gateway's own parts with nothing between them. A bare uWS handler reads the
 * body, makes what an acceptance of the gateway was watched to put durable, and writes the same answer after the
 * flush. No header is looked at, nothing is hashed, parsed, checked, counted or remembered. The argument is a file
 * with a SubmitCeiling as JSON.
 */
import { readFileSync } from 'node:fs';
import { createApp, listen, type HttpResponse } from '../../src/http/uws.js';
import type { AcceptancePut } from './acceptance-puts.js';
import { ceilingDisks } from './ceiling-disks.js';
import type { ConstantAnswer } from './constant.js';

export interface SubmitCeiling {
  readonly disk: keyof typeof ceilingDisks;
  readonly dataDir: string;
  readonly puts: readonly AcceptancePut[];
  readonly answer: ConstantAnswer;
  readonly users: number;
}

const order = JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as SubmitCeiling;
const { answer } = order;
const host = '127.0.0.1';

class Request {
  isOpen = true;

  constructor(readonly res: HttpResponse) {
    res.onAborted(() => {
      this.isOpen = false;
    });
  }

  reply(): void {
    if (!this.isOpen) return;
    this.res.cork(() => {
      this.res.writeStatus(answer.statusLine);
      for (const [name, value] of answer.headers) this.res.writeHeader(name, value);
      this.res.end(answer.body);
    });
  }
}

/**
 * One flush is under way, and the requests that come meanwhile are the next. A flush begins at the end of a turn: if
 * it began with the first request of a turn, one of 64 connections would be in every second flush and all others in
 * the one between, and each would wait for two.
 */
let waiting: Request[] = [];
let isBusy = false;
const disk = ceilingDisks[order.disk](order);

function flush(): void {
  const group = waiting;
  waiting = [];
  isBusy = group.length > 0;
  if (!isBusy) return;
  disk(group.length, () => {
    flush();
    // lmdb may tell of the flush within another socket's callback, where each header of an answer would be a
    // system call of its own (native-notes/backpressure.md).
    setImmediate(() => {
      for (const request of group) request.reply();
    });
  });
}

const app = createApp(undefined);
app.post('/*', (res) => {
  const request = new Request(res);
  let bytes = 0;
  res.onData((chunk, isLast) => {
    bytes += chunk.byteLength;
    if (!isLast || bytes === 0) return;
    waiting.push(request);
    if (isBusy) return;
    isBusy = true;
    setImmediate(flush);
  });
});

const listener = await listen(app, host, 0);
console.log(JSON.stringify({ url: `http://${host}:${listener.port}` }));
