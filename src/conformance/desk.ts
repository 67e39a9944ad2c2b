/**
 * What a rule works with: the current connection of the plugin, commands to send, and everything that the plugin
 * has ever sent. Waits are bounded, and a wait that ends in vain is a failure of the rule.
 */
import { toIsoTime, type Clock } from '../lib/clock.js';
import { setPatientTimer } from '../lib/patient-timer.js';
import { createIdSource } from '../lib/ids.js';
import { nextTurn } from '../lib/turn.js';
import { isFinal, type Fill } from '../model/execution.js';
import {
  type CloseReason,
  heartbeatMs,
  type PluginFrame,
  type PluginFrameOf,
  type WelcomeFrame,
} from '../plugins/protocol.js';
import { Orders, type OrderOptions } from './orders.js';
import { Session } from './session.js';
import { Stage } from './stage.js';

/** The rule is broken; the message says how. */
export class Broken extends Error {}

export interface DeskOptions extends OrderOptions {
  /** Password of the plugin's login. */
  readonly password: string;
  /** Longest wait for an answer of a connected plugin. */
  readonly answerMs: number;
  /** Longest time from a connection to its hello. */
  readonly helloMs: number;
  /** Longest wait for the plugin to connect. */
  readonly connectMs: number;
  /** How many unacknowledged reports a plugin must be able to hold. */
  readonly backlog: number;
  /** How long the plugin may be away, as before each reconnect, until `onWaiting` is called. */
  readonly awayMs: number;
  /** Called when the plugin has been away for that long: it may have to be started. */
  readonly onWaiting: () => void;
}

export interface Seen {
  readonly frame: PluginFrame;
  readonly session: Session;
}

export type Report = PluginFrameOf<'report'>;

export class Desk {
  readonly clock: Clock;
  readonly stage: Stage;
  readonly seen: Seen[] = [];
  /** Why messages of the plugin were no valid frames. */
  readonly badFrames: string[] = [];
  readonly orders: Orders;
  /** The highest acknowledged `seq`. */
  lastSeq = 0;
  /** Counts lost connections: a rule that failed during a loss proves nothing. */
  losses = 0;
  readonly #ids;
  readonly #waiting = new Set<() => void>();
  readonly #unwelcomed: Session[] = [];
  #current: Session | undefined;

  constructor(readonly options: DeskOptions) {
    this.clock = options.clock;
    this.#ids = createIdSource(options.clock);
    this.orders = new Orders(options, this.#ids);
    this.stage = new Stage(options.clock, options.password, {
      onConnection: (socket, offered) => this.#connected(socket, offered),
      onAttempt: () => this.#changed(),
    });
  }

  /** A place in `seen`: waits from there do not see what was before. */
  get mark(): number {
    return this.seen.length;
  }

  /** The welcomed connection; waits for one where there is none. */
  async session(): Promise<Session> {
    if (this.#current?.isClosed === false) {
      this.#current.acknowledges = true;
      return this.#current;
    }
    return this.welcome(await this.nextHello());
  }

  /** Cuts the connection and welcomes the next one. */
  async reconnected(welcome: object = {}): Promise<Session> {
    const session = await this.session();
    await session.cut();
    return this.welcome(await this.nextHello(), welcome);
  }

  /** Ends the connection, if there is one: what follows begins anew. */
  async drop(): Promise<void> {
    this.stage.refusals.length = 0;
    await this.#current?.cut();
  }

  /** Closes the connection for this reason, and waits for the plugin's close frame: it or the line may be slow. */
  async sendAway(session: Session, reason: CloseReason): Promise<void> {
    session.close(reason);
    await this.until('close of the connection', () => session.isClosed);
  }

  /** The next connection, once its hello is there; it has got no welcome. */
  async nextHello(): Promise<Session> {
    const { clock, awayMs, onWaiting, connectMs } = this.options;
    this.#current = undefined;
    const notice = clock.setTimer(awayMs, onWaiting);
    const isThere = (): Session | undefined =>
      this.#unwelcomed.find((session) => !session.isClosed && this.framesOf(session).length > 0);
    const session = this.until('a connection with a frame', isThere, connectMs);
    await session.catch(() => undefined);
    notice.cancel();
    this.#unwelcomed.length = 0;
    return session;
  }

  welcome(session: Session, fields: object = {}): Session {
    const welcome: WelcomeFrame = {
      type: 'welcome',
      connectionId: `con_${this.#ids.ulid()}`,
      heartbeatMs,
      serverTime: toIsoTime(this.clock.now()),
      lastSeq: this.lastSeq,
      outgoingQueue: { eventsMax: 2_000, ageMs: 600_000 },
    };
    session.isWelcomed = true;
    session.send({ ...welcome, ...fields });
    this.#current = session;
    return session;
  }

  /** Whether the hello of the connection says so. */
  async canDo(capability: PluginFrameOf<'hello'>['capabilities'][number]): Promise<boolean> {
    const [hello] = this.framesOf(await this.session());
    return hello?.type === 'hello' && hello.capabilities.includes(capability);
  }

  framesOf(session: Session): PluginFrame[] {
    return this.seen.filter((one) => one.session === session).map(({ frame }) => frame);
  }

  /** A frame that came after `from`. @throws Broken when it does not come in time. */
  sees<F extends PluginFrame>(
    what: string,
    from: number,
    matches: (frame: PluginFrame) => frame is F,
  ): Promise<F> {
    return this.until(what, () => {
      for (let at = from; at < this.seen.length; at++) {
        const { frame } = this.seen[at] as Seen;
        if (matches(frame)) return frame;
      }
      return undefined;
    });
  }

  ackOf(id: string, from: number): Promise<PluginFrameOf<'ack'>> {
    return this.sees(`an ack of ${id}`, from, (frame): frame is PluginFrameOf<'ack'> => {
      return frame.type === 'ack' && [frame.executionId, frame.cancelRequestId].includes(id);
    });
  }

  reportOf(
    executionId: string,
    from: number,
    what: string,
    matches: (report: Report) => boolean,
  ): Promise<Report> {
    return this.sees(`${what} on ${executionId}`, from, (frame): frame is Report => {
      return frame.type === 'report' && frame.executionId === executionId && matches(frame);
    });
  }

  finalReportOf(executionId: string, from: number): Promise<Report> {
    return this.reportOf(executionId, from, 'a final report', ({ status }) => isFinal(status));
  }

  cancelReportOf(cancelRequestId: string, from: number): Promise<PluginFrameOf<'cancel_report'>> {
    const what = `an outcome of ${cancelRequestId}`;
    return this.sees(what, from, (frame): frame is PluginFrameOf<'cancel_report'> => {
      return (
        frame.type === 'cancel_report' &&
        frame.cancelRequestId === cancelRequestId &&
        frame.status !== 'pending'
      );
    });
  }

  /** Fills of the execution, each once. */
  fillsOf(executionId: string): Fill[] {
    const fills = new Map<string, Fill>();
    for (const { frame } of this.seen) {
      if (frame.type !== 'report' || frame.executionId !== executionId) continue;
      if (frame.fill !== undefined) fills.set(frame.fill.fillId, frame.fill);
    }
    return [...fills.values()];
  }

  /**
   * Waits until `find` gives neither undefined nor false.
   * @throws Broken when it does not in time, or the connection is lost.
   */
  until<T>(what: string, find: () => T | undefined, withinMs = this.options.answerMs): Promise<T> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        timer.cancel();
        this.#waiting.delete(look);
      };
      const fail = (until: string): void => {
        end();
        reject(new Broken(`There was no ${what.replace(/^an? /, '')} ${until}.`));
      };
      const look = (): void => {
        const found = find();
        if (found !== undefined && found !== false) {
          end();
          resolve(found);
        } else if (this.#current?.isLost === true) fail('before the connection was lost');
      };
      const timer = setPatientTimer(this.clock, withinMs, () => fail(`within ${withinMs} ms`));
      this.#waiting.add(look);
      look();
    });
  }

  /** Lets time pass, in which something must not happen. Frames that have arrived by then are in `seen`. */
  async pause(ms: number): Promise<void> {
    await new Promise<void>((resolve) => this.clock.setTimer(ms, resolve));
    await nextTurn();
    await nextTurn();
  }

  #connected(socket: ConstructorParameters<typeof Session>[0], offered: readonly string[]): void {
    const session = new Session(socket, offered, this.clock, {
      onFrame: (frame) => this.#received(frame, session),
      onBadFrame: (why) => void this.badFrames.push(why),
      onChange: () => this.#changed(),
      onLost: () => void this.losses++,
    });
    this.#unwelcomed.push(session);
    this.#changed();
  }

  #received(frame: PluginFrame, session: Session): void {
    this.seen.push({ frame, session });
    if ('seq' in frame && session.acknowledges && session.isWelcomed) {
      this.lastSeq = Math.max(this.lastSeq, frame.seq);
      session.send({ type: 'ack', seq: this.lastSeq });
    }
    this.#changed();
  }

  #changed(): void {
    for (const look of [...this.#waiting]) look();
  }
}
