/**
 * A process of the FIX terminal: its session, its desk and its journals. The disk is simulated, and so are the
 * connections of FixLink and PluginClient, but with their order of journals and messages. Lives until it is killed;
 * the files outlive it.
 */
import { ActionQueue } from '../../src/fix/action-queue.js';
import type { FixDesk } from '../../src/fix/fix-desk.js';
import {
  numberOf,
  shownMessage,
  type Field,
  type FixMessage,
  type ReceivedMessage,
} from '../../src/fix/message.js';
import type { SessionAction } from '../../src/fix/session-action.js';
import type { SessionEnd } from '../../src/fix/session-end.js';
import type { FixSession } from '../../src/fix/session.js';
import { tags } from '../../src/fix/tags.js';
import { venues } from '../../src/fix/venues.js';
import type { SubmitFrame } from '../../src/plugins/protocol.js';
import type { JournalFile } from '../../src/terminal/journal-file.js';
import { evidenceOf } from '../../src/terminal/journal-state.js';
import { Journal } from '../../src/terminal/journal.js';
import { Outgoing } from '../../src/terminal/outgoing.js';
import type { Command, GatewayView } from './gateway-view.js';
import { MemoryDesk } from './memory-desk.js';
import { newSession } from './session-transcript.js';
import type { SimulatedVenue } from './simulated-venue.js';
import { Pipe, type Surroundings } from './surroundings.js';

/** A file whose lines are durable after `sync`; a kill keeps any number of the others. */
export class SimulatedFile {
  lines: string[] = [];

  open(world: Surroundings): JournalFile {
    let pending: string[] = [];
    return {
      path: 'memory',
      lines: [...this.lines],
      append: (line) => void pending.push(line),
      sync: () => {
        try {
          if (pending.length > 0) world.mayDie();
        } catch (killed) {
          pending.length = world.chance.between(0, pending.length);
          throw killed;
        } finally {
          this.lines.push(...pending.splice(0));
        }
      },
      rewrite: (lines) => {
        this.lines = [...lines];
        pending = [];
      },
      close: () => undefined,
    };
  }
}

export interface SimulatedTerminalOptions {
  readonly world: Surroundings;
  readonly files: { readonly plugin: SimulatedFile; readonly fix: SimulatedFile };
  readonly gateway: GatewayView;
  readonly venue: SimulatedVenue;
}

const reconnectMs = [1_000, 10_000] as const;

export class SimulatedTerminal {
  readonly #options: SimulatedTerminalOptions;
  readonly #world: Surroundings;
  readonly #memory: MemoryDesk;
  readonly #plugin: Journal;
  readonly #outgoing: Outgoing;
  readonly #session: FixSession;
  /** Tasks for the end of the turn of the event loop. */
  readonly #immediates: (() => void)[] = [];
  #pipe: Pipe | undefined;
  #connectAt = 0;
  readonly #actions = new ActionQueue((action) => this.#carryOut(action));
  /** MsgSeqNum of the latest message that the desk was given. */
  #delivered = 0;
  #unsent: FixMessage[] = [];
  #isFlushDue = false;
  #ended: SessionEnd | undefined;
  #hasJoined = false;

  constructor(options: SimulatedTerminalOptions) {
    const { world, files } = options;
    const { clock, habits } = world;
    this.#options = options;
    this.#world = world;
    this.#plugin = new Journal(clock, files.plugin.open(world));
    const venue = { ...venues.standard, statusRequest: habits.answersQuestions };
    const changed = { symbols: {}, venue };
    this.#memory = new MemoryDesk(changed, files.fix.open(world), this.#plugin, clock);
    const dropNotice = () => ({ type: 'event', event: 'terminal_message', data: {} }) as const;
    const queue = undefined;
    this.#outgoing = new Outgoing({ journal: this.#plugin, clock, queue, dropNotice });
    this.#memory.note = (frame) => this.#outgoing.addReport(frame);
    this.#memory.send = (type, fields) => this.#send(type, fields);
    const { resetsOnLogon } = habits;
    const { numbers } = this.#memory.journal;
    const asked = { resetOnLogon: resetsOnLogon, confirmsLogon: !resetsOnLogon, numbers };
    this.#session = newSession(clock, asked);
  }

  get #desk(): FixDesk {
    this.#memory.isLoggedOn = this.#session.isLoggedOn;
    return this.#memory.desk;
  }

  /** Whether no message is unread, and no task waits for the end of a turn. */
  get isIdle(): boolean {
    return this.#immediates.length === 0 && (this.#pipe?.toTerminal.length ?? 0) === 0;
  }

  /** Runs the next task. */
  goOn(): void {
    this.#immediates.shift()?.();
  }

  /** Reads the venue's next message, notices that the connection is gone, or connects. */
  read(): void {
    const pipe = this.#pipe;
    if (pipe === undefined) {
      if (this.#world.clock.monotonic() >= this.#connectAt) this.#connect();
      return;
    }
    const message = pipe.toTerminal.shift();
    if (message !== undefined) {
      this.#world.note(() => `< ${shownMessage(message)}`);
      this.#do(this.#session.received(message));
    } else if (pipe.isVenueClosed) this.#close(pipe);
  }

  /** Called each second. */
  tick(): void {
    this.#do(this.#session.tick());
    this.#desk.tick();
  }

  /** The process is killed. */
  end(): void {
    if (this.#pipe !== undefined) this.#pipe.isTerminalClosed = true;
    this.#options.gateway.terminal = undefined;
  }

  // As FixLink.

  #connect(): void {
    this.#ended = undefined;
    this.#unsent = [];
    this.#pipe = new Pipe();
    this.#options.venue.session.accept(this.#pipe);
    this.#do(this.#session.connected());
  }

  #send(type: string, fields: readonly Field[]): number {
    const seq = this.#session.numbers.out;
    this.#do(this.#session.send(type, fields));
    return seq;
  }

  #do(actions: readonly SessionAction[]): void {
    if (!this.#isFlushDue) this.#immediates.push(() => this.#flush());
    this.#isFlushDue = true;
    this.#actions.add(actions);
  }

  #carryOut(action: SessionAction): void {
    switch (action.kind) {
      case 'send':
        return void this.#unsent.push(action.message);
      case 'deliver':
        return this.#deliver(action.message);
      case 'logged_on':
        this.#world.note(() => 'logged on');
        this.#desk.loggedOn();
        return this.#hasJoined ? undefined : this.#join();
      case 'reset':
        this.#delivered = 0;
        return this.#memory.journal.noteReset();
      case 'missed':
        return this.#desk.missed(action.from, action.to);
      case 'unread':
        return this.#desk.unread(action.message);
      case 'end':
        this.#ended = action;
    }
  }

  #deliver(message: ReceivedMessage): void {
    const seq = numberOf(message, tags.MsgSeqNum) ?? 0;
    if (seq <= this.#delivered) {
      this.#world.breach('each message is taken once, and in order', shownMessage(message));
    }
    this.#delivered = seq;
    this.#options.venue.noteDelivery(message);
    this.#desk.received(message);
  }

  #flush(): void {
    this.#isFlushDue = false;
    this.#flushPlugin();
    this.#memory.journal.flush(this.#session.numbers);
    this.#world.mayDie();
    const pipe = this.#pipe;
    if (pipe === undefined) return;
    for (const message of this.#unsent.splice(0)) {
      const leaving = this.#desk.mayLeave(message) ? message : this.#session.inPlaceOf(message);
      this.#world.note(() => `> ${shownMessage(leaving)}`);
      if (!pipe.isVenueClosed) pipe.toVenue.push({ beginString: 'FIX.4.4', ...leaving });
      this.#world.mayDie();
    }
    if (this.#ended !== undefined) this.#close(pipe);
  }

  #close(pipe: Pipe): void {
    const { reason, text } = this.#ended ?? { reason: 'silent', text: 'the connection was closed' };
    this.#world.note(() => `venue lost, ${reason}: ${text}`);
    pipe.isTerminalClosed = true;
    this.#pipe = undefined;
    this.#session.lost();
    this.#connectAt = this.#world.clock.monotonic() + this.#world.chance.between(...reconnectMs);
    // A message that comes late, or is read late, may end the session.
    const isLate = reason === 'silent' || reason === 'protocol';
    if (this.#ended === undefined || (isLate && !this.#world.isQuiet)) return;
    this.#world.breach('the session goes on by itself, and refuses nothing that is right', text);
  }

  // As PluginClient.

  /** Tells the gateway what the journal knows, as on a new connection or for a command that comes again. */
  hello(): void {
    this.#outgoing.open(this.#options.gateway.lastSeq);
    this.#flushPlugin();
    for (const known of this.#plugin.executions()) {
      if (known.isReported) this.#options.gateway.report(known.executionId, evidenceOf(known));
    }
  }

  /** Takes up commands that an earlier process has stored and not reported on, and cancels without an outcome. */
  #join(): void {
    this.#hasJoined = true;
    const executions = this.#plugin.executions();
    this.#desk.restore(executions.filter(({ isReported }) => isReported));
    this.hello();
    for (const { submit, isReported } of executions) {
      if (!isReported) this.#whenDurable(() => this.#takeUp(submit));
    }
    for (const { cancelRequestId, executionId, evidence } of this.#plugin.cancels()) {
      const isOpen = evidence === undefined || evidence.status === 'pending';
      if (isOpen) this.#whenDurable(() => this.#desk.cancel({ cancelRequestId, executionId }));
    }
    this.#options.gateway.join(this);
  }

  #takeUp(submit: SubmitFrame): void {
    const found = this.#desk.inDoubt(submit);
    if (found === 'execute') this.#execute(submit);
    else if (found !== undefined) this.#memory.report(submit.executionId, found);
  }

  /** Stores a command, and carries it out once it is durable, unless it is known. */
  receive(command: Command): void {
    this.#world.note(() => `gateway: ${JSON.stringify(command)}`);
    const isSubmit = command.type === 'submit';
    const known = isSubmit
      ? this.#plugin.execution(command.executionId)
      : this.#plugin.cancel(command.cancelRequestId);
    if (known === undefined && isSubmit) this.#plugin.noteSubmit(command);
    else if (known === undefined && !isSubmit)
      this.#plugin.noteCancel(command.cancelRequestId, command.executionId);
    this.#whenDurable(() => {
      this.#options.gateway.acknowledge(command);
      if (known !== undefined) return;
      if (isSubmit) this.#execute(command);
      else this.#desk.cancel(command);
    });
  }

  #execute(submit: SubmitFrame): void {
    const { executionId, expiresAt } = submit;
    if (this.#world.clock.now() < Date.parse(expiresAt)) return this.#desk.submit(submit);
    this.#memory.report(executionId, { status: 'expired', reasonCode: 'ttl_expired' });
  }

  #whenDurable(work: () => void): void {
    this.#immediates.push(() => {
      this.#flushPlugin();
      work();
    });
  }

  /** Makes the reports durable, then sends them to the gateway. */
  #flushPlugin(): void {
    this.#world.mayDie();
    this.#plugin.flush();
    this.#world.mayDie();
    for (const frame of this.#outgoing.takeUnsent()) {
      this.#options.gateway.take(frame);
      this.#outgoing.acknowledge(frame.seq);
    }
  }
}
