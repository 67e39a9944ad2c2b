/**
 * A small simulated broker that implements the catalog of commands (src/plugins/COMMANDS.md). Deterministic: the
 * same calls at the same times of its clock have the same results.
 */
import type { Clock } from '../lib/clock.js';
import type { SubmitFrame } from '../plugins/protocol.js';
import { isFault, type CommandFault } from '../plugins/commands.js';
import type { BrokerListener } from './broker-listener.js';
import { instruments, type Instrument } from './instruments.js';
import type { KnownExecution } from './journal-state.js';
import { exitFault, readPaperCommand, type OrderRequest } from './order-request.js';
import { PaperLedger } from './paper-ledger.js';
import { PaperOrderBook } from './paper-order-book.js';
import { isPrice } from './price-feed.js';
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
  /** The account, its positions and orders. */
  snapshot(): object;
  stop(): void;
}

export function createPaperBroker(options: PaperBrokerOptions): PaperBroker {
  const { clock, listener, partialFills = 1 } = options;
  const ledger = new PaperLedger(clock, (event) => listener.event(event));
  const book = new PaperOrderBook({ clock, listener, ledger, partialFills });

  function submit(command: BrokerCommand): void {
    const asked = readPaperCommand(command);
    if (isFault(asked)) return refuse(command, asked);
    if (asked.name === 'order/submit') return placeOrder(command, asked.request);
    if (asked.name === 'account/flatten') return flatten(command);
    complete(
      command,
      close(asked.instrument, command) ?? `${asked.instrument.symbol} had no position.`,
    );
  }

  function placeOrder(command: BrokerCommand, request: OrderRequest): void {
    const fault = exitFault(request, ledger.priceOf(request.instrument.symbol));
    if (fault !== undefined) return refuse(command, fault);
    book.place(command, request);
  }

  function flatten(command: BrokerCommand): void {
    const lines = [`${book.cancelAll()} working orders cancelled.`];
    for (const { instrument } of ledger.positions) lines.push(close(instrument, command) ?? '');
    complete(command, lines.join(' '));
  }

  function close(instrument: Instrument, { executionId }: BrokerCommand): string | undefined {
    return ledger.close(instrument, `${executionId}-${instrument.symbol}`, { executionId });
  }

  function complete({ executionId }: BrokerCommand, text: string): void {
    listener.report(executionId, { status: 'completed', native: { state: 'Completed', text } });
  }

  function refuse(command: BrokerCommand, { reasonCode, text }: CommandFault): void {
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

  function snapshot(): object {
    return { ...ledger.snapshot(), ...book.snapshot() };
  }

  return {
    submit,
    cancel: (cancelRequestId, executionId) => book.cancel(cancelRequestId, executionId),
    setPrice(symbol, price) {
      const instrument = instruments.get(symbol);
      if (instrument === undefined || !isPrice(price)) return false;
      ledger.setPrice(instrument, price);
      book.priceMoved(instrument);
      return true;
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
      listener.event({ event: 'state_snapshot', data: snapshot() });
    },
    snapshot,
    stop: () => book.stop(),
  };
}
