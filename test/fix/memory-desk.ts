/** A desk with journals in memory and a session that notes what is sent; the test speaks for the venue. */
import { FixDesk } from '../../src/fix/fix-desk.js';
import { FixJournal } from '../../src/fix/fix-journal.js';
import type { Field, ReceivedMessage } from '../../src/fix/message.js';
import type { OrderRules } from '../../src/fix/order-message.js';
import { tags } from '../../src/fix/tags.js';
import { venues } from '../../src/fix/venues.js';
import { assert } from '../../src/lib/assert.js';
import type { SubmitFrame } from '../../src/plugins/protocol.js';
import type { JournalFile } from '../../src/terminal/journal-file.js';
import type { ReportFrame } from '../../src/terminal/journal-state.js';
import { Journal } from '../../src/terminal/journal.js';
import type { CancelEvidence, Evidence } from '../../src/terminal/plugin.js';
import { SimulatedClock } from '../support/simulated-clock.js';

/** An order and a cancel of it, at the gateway and as ClOrdIDs. */
export const id = 'exe_01KGA2M5000000000000000001_0';
export const name = '01KGA2M5000000000000000001_0';
export const cancelId = 'can_01KGA2M5000000000000000001_0_1';
export const cancelName = '01KGA2M5000000000000000001_0_1';

export const rules: OrderRules = {
  beginString: 'FIX.4.4',
  venue: venues.standard,
  account: 'A1',
  timeInForce: 'day',
  symbols: { EURUSD: 'EUR/USD' },
};

export const limitOrder = {
  instrument: 'EURUSD',
  side: 'buy',
  executionType: 'limit',
  limitPrice: 1.1,
  quantity: 100,
} as const;

/** An order that expires in a minute. */
export function submitFrame(executionId: string, payload: object, nowMs: number): SubmitFrame {
  return {
    type: 'submit',
    executionId,
    requestId: 'req_1',
    signalId: 'sig-1',
    signalType: 'order',
    cmd: 'submit',
    payload: payload as Record<string, unknown>,
    ts: nowMs,
    expiresAt: new Date(nowMs + 60_000).toISOString(),
  };
}

/** @param text fields as a log shows them: `35=8|11=a`. */
export function message(text: string): ReceivedMessage {
  const [type, ...fields] = text.split('|').map((field): Field => {
    const at = field.indexOf('=');
    return [Number(field.slice(0, at)), field.slice(at + 1)];
  });
  return { beginString: 'FIX.4.4', type: type?.[1] ?? '', fields };
}

export function memoryFile(
  lines: string[] = [],
): JournalFile & { readonly content: () => string[] } {
  let kept = [...lines];
  return {
    path: 'memory',
    lines: [...lines],
    append: (line) => void kept.push(line),
    sync: () => undefined,
    rewrite: (all) => void (kept = [...all]),
    close: () => undefined,
    content: () => kept,
  };
}

export class MemoryDesk {
  readonly clock: SimulatedClock;
  readonly plugin: Journal;
  readonly journal: FixJournal;
  readonly desk: FixDesk;
  /** Messages that have left, as `D 11=… …`, without the fields of time. */
  sent: string[] = [];
  /** Reports and events that the gateway was sent, in short. */
  told: string[] = [];
  isLoggedOn = true;
  readonly #file;
  /** Called with each report frame. */
  note: (frame: ReportFrame) => void;
  /** @returns the message's number. */
  send: (type: string, fields: readonly Field[]) => number;
  #seq = 1;

  constructor(
    changed: Partial<OrderRules> = {},
    file: JournalFile & { readonly content?: () => string[] } = memoryFile(),
    plugin?: Journal,
    clock = new SimulatedClock(),
  ) {
    this.clock = clock;
    this.#file = file;
    this.send = (type, fields) => this.#noteSent(type, fields);
    this.note = (frame) => void this.plugin.noteReport(frame, undefined);
    this.plugin = plugin ?? new Journal(this.clock);
    const isKnown = (id: string): boolean => this.plugin.execution(id) !== undefined;
    this.journal = new FixJournal(file, isKnown, this.clock);
    const isLoggedOn = (): boolean => this.isLoggedOn;
    this.desk = new FixDesk({
      clock: this.clock,
      journal: this.journal,
      rules: { ...rules, ...changed },
      session: {
        get isLoggedOn() {
          return isLoggedOn();
        },
        send: (type, fields) => this.send(type, fields),
      },
      plugin: {
        known: (id) => this.plugin.execution(id),
        hasExpired: (id) =>
          this.clock.now() >= Date.parse(this.plugin.execution(id)?.submit.expiresAt ?? ''),
        report: (executionId, evidence) => this.report(executionId, evidence),
        cancelReport: (cancelRequestId, evidence) => {
          this.note({ type: 'cancel_report', cancelRequestId, ...evidence });
          this.told.push(`${cancelRequestId} ${shownCancel(evidence)}`);
        },
      },
      warn: (text, executionId) => void this.told.push(`event ${executionId ?? '-'} ${text}`),
    });
  }

  /** @returns the lines of the session's journal. */
  content(): string[] {
    return this.#file.content?.() ?? [];
  }

  /** @returns the desk of the next process, with the journals of this one. */
  restarted(): MemoryDesk {
    return new MemoryDesk({}, memoryFile(this.content()), this.plugin, this.clock);
  }

  submit(executionId: string, payload: object = limitOrder, cmd = 'submit'): void {
    const frame = { ...submitFrame(executionId, payload, this.clock.now()), cmd };
    this.plugin.noteSubmit(frame);
    this.desk.submit(frame);
  }

  report(executionId: string, evidence: Evidence): void {
    assert(this.plugin.execution(executionId) !== undefined, 'as the plugin itself does');
    this.note({ type: 'report', executionId, ...evidence });
    this.told.push(shownReport(evidence));
  }

  receive(text: string): void {
    this.desk.received(message(text));
  }

  /** The venue resets both sequences within the session. */
  reset(): void {
    this.desk.unread(message('35=A|141=Y'));
    this.journal.noteReset();
    this.#seq = 1;
  }

  /** Seconds pass. */
  pass(seconds: number): void {
    for (let second = 0; second < seconds; second++) {
      this.clock.advance(1_000);
      this.desk.tick();
    }
  }

  taken(): { readonly sent: string[]; readonly told: string[] } {
    const { sent, told } = this;
    this.sent = [];
    this.told = [];
    return { sent, told };
  }

  #noteSent(type: string, fields: readonly Field[]): number {
    const shown = fields.filter(([tag]) => tag !== tags.TransactTime);
    this.sent.push([type, ...shown.map(([tag, value]) => `${tag}=${value}`)].join(' '));
    return ++this.#seq;
  }
}

function shownReport(evidence: Evidence): string {
  const { status, reasonCode, filledQuantity, fill } = evidence;
  return [
    status,
    reasonCode,
    filledQuantity !== undefined && `${filledQuantity} filled`,
    fill !== undefined && `${fill.fillId}: ${fill.quantity} at ${fill.price}`,
  ]
    .filter((part) => part !== undefined && part !== false)
    .join(', ');
}

function shownCancel({ status, reasonCode }: CancelEvidence): string {
  return reasonCode === undefined ? status : `${status}, ${reasonCode}`;
}
