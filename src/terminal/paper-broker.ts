/**
 * A small simulated broker with three commands: submit an order, close a position, flatten the account.
 * Rejects all others. Deterministic: the same calls at the same times of its clock have the same results.
 */
import type { Clock } from '../lib/clock.js';
import type { SubmitFrame } from '../plugins/protocol.js';
import type { BrokerListener } from './broker-listener.js';
import type { Instrument } from './instruments.js';
import type { KnownExecution } from './journal.js';
import { isRefusal, parseClose, parseOrder, type Refusal } from './order-request.js';
import { PaperLedger } from './paper-ledger.js';
import { PaperOrderBook } from './paper-order-book.js';
import { originOf } from './terminal-event.js';

export type BrokerCommand = Pick<
  SubmitFrame,
  'executionId' | 'orderRef' | 'signalType' | 'cmd' | 'payload'
>;

export interface PaperBrokerOptions {
  readonly clock: Clock;
  readonly listener: BrokerListener;
  /** Partial fills per order, unless its payload has `partialFills`; default 1. */
  readonly partialFills?: number;
  /** Milliseconds between two partial fills of an order; default 100. */
  readonly pieceMs?: number;
  /** Milliseconds that a cancel is pending before it takes effect; default 0. */
  readonly cancelMs?: number;
}

export interface PaperBroker {
  submit(command: BrokerCommand): void;
  cancel(cancelRequestId: string, executionId: string): void;
  /** @returns false when the instrument or the price is invalid. */
  setPrice(symbol: string, price: number): boolean;
  priceOf(symbol: string): number;
  restore(executions: readonly KnownExecution[]): void;
  /** Sends the events with the full state that a terminal sends when it connects. */
  sendState(): void;
  stop(): void;
}

export function createPaperBroker(options: PaperBrokerOptions): PaperBroker {
  const { clock, listener, partialFills = 1, pieceMs = 100, cancelMs = 0 } = options;
  const ledger = new PaperLedger(clock, (event) => listener.event(event));
  const book = new PaperOrderBook({ clock, listener, ledger, partialFills, pieceMs, cancelMs });

  const commands: Readonly<Record<string, (command: BrokerCommand) => void>> = {
    'order/submit': submitOrder,
    'position/close': closePosition,
    'account/flatten': flatten,
  };

  function submitOrder(command: BrokerCommand): void {
    const request = parseOrder(command.payload);
    if (isRefusal(request)) refuse(command, request);
    else book.place(command, request);
  }

  function closePosition(command: BrokerCommand): void {
    const instrument = parseClose(command.payload);
    if (isRefusal(instrument)) return refuse(command, instrument);
    complete(command, closeNow(instrument, command) ?? `${instrument.symbol} had no position.`);
  }

  function flatten(command: BrokerCommand): void {
    const lines = [`${book.cancelAll()} working orders cancelled.`];
    for (const { instrument } of ledger.positions) lines.push(closeNow(instrument, command) ?? '');
    complete(command, lines.join(' '));
  }

  /** Closes a net position at the simulated price. @returns a description; undefined without a position. */
  function closeNow(instrument: Instrument, { executionId }: BrokerCommand): string | undefined {
    const position = ledger.position(instrument);
    if (position === undefined) return undefined;
    const { symbol } = instrument;
    const side = position.quantity > 0 ? 'sell' : 'buy';
    const quantity = Math.abs(position.quantity);
    const price = ledger.priceOf(symbol);
    const fillId = `${executionId}-${symbol}`;
    ledger.book({ fillId, instrument, side, quantity, price }, { executionId });
    return `${side} ${quantity} ${symbol} at ${price} closed the position.`;
  }

  function complete({ executionId }: BrokerCommand, text: string): void {
    listener.report(executionId, { status: 'completed', native: { state: 'Completed', text } });
  }

  function refuse(command: BrokerCommand, { reasonCode, text }: Refusal): void {
    const { executionId, orderRef } = command;
    const native = { state: 'Rejected', text };
    if (orderRef !== undefined) book.remember(executionId, 'rejected');
    listener.report(executionId, { status: 'rejected', reasonCode, native });
    listener.event({
      event: orderRef === undefined ? 'terminal_message' : 'order_update',
      data: { state: 'Rejected', reasonCode, text },
      rawText: `Rejected: ${text}`,
      ...originOf(command),
    });
  }

  return {
    submit(command) {
      const run = commands[`${command.signalType}/${command.cmd}`];
      if (run !== undefined) return run(command);
      const known = Object.keys(commands).join(', ');
      refuse(command, { reasonCode: 'unknown_command', text: `The broker knows ${known}.` });
    },
    cancel: (cancelRequestId, executionId) => book.cancel(cancelRequestId, executionId),
    setPrice(symbol, price) {
      const isSet = ledger.setPrice(symbol, price);
      if (isSet) book.priceMoved(symbol);
      return isSet;
    },
    priceOf: (symbol) => ledger.priceOf(symbol),
    restore: (executions) => book.restore(executions),
    sendState() {
      const isSimulated = true;
      listener.event({ event: 'connection_status', data: { status: 'connected', isSimulated } });
      listener.event({
        event: 'account_status',
        data: { status: 'active', tradingEnabled: true, isSimulated },
      });
      listener.event({
        event: 'state_snapshot',
        data: { ...ledger.snapshot(), ...book.snapshot() },
      });
    },
    stop: () => book.stop(),
  };
}
