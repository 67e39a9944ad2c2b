/**
 * A small venue: the acceptor of one FIX session, in memory, that keeps its numbers over connections, resends its
 * reports and fills limit orders at once. A test reads the messages that came, and may answer them itself.
 */
import { once } from 'node:events';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { Test } from 'tap';
import { toFixTime } from '../../src/fix/fix-time.js';
import { FrameReader } from '../../src/fix/frame-reader.js';
import {
  encodeMessage,
  numberOf,
  shownMessage,
  valueOf,
  type Field,
  type ReceivedMessage,
} from '../../src/fix/message.js';
import { tags, types } from '../../src/fix/tags.js';

export interface AcceptorOptions {
  readonly beginString?: string;
  /** Listens with TLS. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Answers an application message; without it, limit orders are filled. */
  readonly onMessage?: (message: ReceivedMessage, venue: Acceptor) => void;
  /** @returns the text of a logout in answer to this logon, if it is refused. */
  readonly refuses?: (logon: ReceivedMessage) => string | undefined;
}

export class Acceptor {
  port = 0;
  /** The next numbers to send and to receive. */
  out = 1;
  in = 1;
  /** All messages that came, in order. */
  readonly received: ReceivedMessage[] = [];
  connections = 0;
  readonly #options: AcceptorOptions;
  readonly #sent: { readonly type: string; readonly fields: readonly Field[] }[] = [];
  #socket: Socket | undefined;
  #isLoggedOn = false;

  constructor(options: AcceptorOptions) {
    this.#options = options;
  }

  get isLoggedOn(): boolean {
    return this.#isLoggedOn;
  }

  /** ClOrdIDs of the orders that came, each as often as it came. */
  get orders(): string[] {
    return this.ofType(types.NewOrderSingle).map((order) => valueOf(order, tags.ClOrdID) as string);
  }

  ofType(type: string): ReceivedMessage[] {
    return this.received.filter((message) => message.type === type);
  }

  send(type: string, fields: readonly Field[]): void {
    this.#sent.push({ type, fields });
    this.#write(type, this.out++, fields);
  }

  /** Uses a number up for a message that never leaves. */
  withhold(type: string): void {
    this.#sent.push({ type, fields: [] });
    this.out++;
  }

  /** @param fields further fields: those that every report on an order repeats are added. */
  report(order: ReceivedMessage, fields: readonly Field[]): void {
    const id = valueOf(order, tags.ClOrdID) as string;
    const repeated = [tags.Symbol, tags.Side, tags.OrderQty].map((tag): Field => [
      tag,
      valueOf(order, tag) ?? '',
    ]);
    this.send(types.ExecutionReport, [
      [tags.ClOrdID, id],
      [tags.OrderID, `V-${id}`],
      ...repeated,
      ...fields,
    ]);
  }

  fill(order: ReceivedMessage): void {
    const quantity = valueOf(order, tags.OrderQty) as string;
    const price = valueOf(order, tags.Price) ?? '1';
    this.report(order, [
      [tags.ExecID, `E-${this.out}`],
      [tags.ExecType, 'F'],
      [tags.OrdStatus, '2'],
      [tags.CumQty, quantity],
      [tags.LeavesQty, '0'],
      [tags.AvgPx, price],
      [tags.LastQty, quantity],
      [tags.LastPx, price],
      [tags.TransactTime, toFixTime(Date.now())],
    ]);
  }

  rest(order: ReceivedMessage): void {
    const quantity = valueOf(order, tags.OrderQty) as string;
    this.report(order, [
      [tags.ExecID, `E-${this.out}`],
      [tags.ExecType, '0'],
      [tags.OrdStatus, '0'],
      [tags.CumQty, '0'],
      [tags.LeavesQty, quantity],
      [tags.AvgPx, '0'],
    ]);
  }

  /** Breaks the connection without a word. */
  cut(): void {
    this.#socket?.destroy();
  }

  /** Writes bytes as they are. */
  write(bytes: string): void {
    this.#socket?.write(bytes, 'latin1');
  }

  /** Reads nothing more from this connection. */
  pause(): void {
    this.#socket?.pause();
  }

  accept(socket: Socket): void {
    this.#socket?.destroy();
    this.#socket = socket;
    this.#isLoggedOn = false;
    this.connections++;
    const reader = new FrameReader();
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (this.#socket === socket) this.#isLoggedOn = false;
    });
    socket.on('data', (chunk) => {
      for (const frame of reader.push(chunk))
        if (frame.kind === 'message') this.#take(frame.message);
    });
  }

  #take(message: ReceivedMessage): void {
    const seq = numberOf(message, tags.MsgSeqNum) as number;
    this.received.push(message);
    if (message.type === types.Logon) return this.#logOn(message, seq);
    if (message.type === types.ResendRequest)
      this.#resend(numberOf(message, tags.BeginSeqNo) as number);
    if (seq > this.in) return this.#askAgain();
    if (seq < this.in) return;
    this.in =
      message.type === types.SequenceReset ? (numberOf(message, tags.NewSeqNo) as number) : seq + 1;
    if (message.type === types.TestRequest) {
      const id = valueOf(message, tags.TestReqID) as string;
      this.send(types.Heartbeat, [[tags.TestReqID, id]]);
    }
    if (message.type === types.Logout) {
      this.send(types.Logout, []);
      this.#socket?.end();
    } else if (!/^[0-5A]$/.test(message.type)) this.#answer(message);
  }

  #answer(message: ReceivedMessage): void {
    const { onMessage } = this.#options;
    if (onMessage !== undefined) onMessage(message, this);
    else if (message.type === types.NewOrderSingle) this.fill(message);
  }

  #logOn(message: ReceivedMessage, seq: number): void {
    const refusal = this.#options.refuses?.(message);
    this.#isLoggedOn = true;
    if (refusal !== undefined) {
      this.send(types.Logout, [[tags.Text, refusal]]);
      return void this.#socket?.end();
    }
    const isReset = valueOf(message, tags.ResetSeqNumFlag) === 'Y';
    if (isReset) {
      this.#sent.length = 0;
      this.out = 1;
      this.in = 1;
    }
    const reset: Field[] = isReset ? [[tags.ResetSeqNumFlag, 'Y']] : [];
    this.send(types.Logon, [[tags.EncryptMethod, '0'], [tags.HeartBtInt, '30'], ...reset]);
    if (seq === this.in) this.in++;
    else if (seq > this.in) this.#askAgain();
  }

  #askAgain(): void {
    this.send(types.ResendRequest, [
      [tags.BeginSeqNo, `${this.in}`],
      [tags.EndSeqNo, '0'],
    ]);
  }

  #resend(from: number): void {
    const last = this.out;
    for (let seq = from; seq < last; seq++) {
      const { type, fields } = this.#sent[seq - 1] as { type: string; fields: readonly Field[] };
      const dup: Field[] = [
        [tags.PossDupFlag, 'Y'],
        [tags.OrigSendingTime, toFixTime(Date.now())],
      ];
      const fill: Field[] = [
        [tags.GapFillFlag, 'Y'],
        [tags.NewSeqNo, `${seq + 1}`],
      ];
      if (/^[0-5A]$/.test(type)) this.#write(types.SequenceReset, seq, [...dup, ...fill]);
      else this.#write(type, seq, [...dup, ...fields]);
    }
  }

  /** Writes nothing before a logon, as on a broken line: the message only uses its number up. */
  #write(type: string, seq: number, fields: readonly Field[]): void {
    if (!this.#isLoggedOn || this.#socket?.writable !== true) return;
    const header: Field[] = [
      [tags.MsgSeqNum, `${seq}`],
      [tags.SenderCompID, 'VENUE'],
      [tags.TargetCompID, 'TRADER'],
      [tags.SendingTime, toFixTime(Date.now())],
    ];
    const message = { type, fields: [...header, ...fields] };
    this.#socket.write(encodeMessage(this.#options.beginString ?? 'FIX.4.4', message));
  }

  /** The messages that came, for the text of a failure. */
  log(): string {
    return this.received.map(shownMessage).join('\n');
  }
}

/** Answers the request to cancel an order that rests. */
export function cancelOrder(request: ReceivedMessage, venue: Acceptor): void {
  const original = valueOf(request, tags.OrigClOrdID) as string;
  venue.send(types.ExecutionReport, [
    [tags.ClOrdID, valueOf(request, tags.ClOrdID) as string],
    [tags.OrigClOrdID, original],
    [tags.OrderID, `V-${original}`],
    [tags.ExecID, `C-${venue.out}`],
    [tags.ExecType, '4'],
    [tags.OrdStatus, '4'],
    [tags.CumQty, '0'],
    [tags.LeavesQty, '0'],
    [tags.AvgPx, '0'],
  ]);
}

export async function startAcceptor(t: Test, options: AcceptorOptions = {}): Promise<Acceptor> {
  const venue = new Acceptor(options);
  const accept = (socket: Socket): void => venue.accept(socket);
  const server =
    options.tls === undefined ? createTcpServer(accept) : createTlsServer(options.tls, accept);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  venue.port = (server.address() as AddressInfo).port;
  t.teardown(() => {
    venue.cut();
    server.close();
  });
  return venue;
}
