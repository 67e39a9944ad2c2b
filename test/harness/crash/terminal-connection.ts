/**
 * A terminal's connection to the gateway: reconnects after every close, cuts the connection itself at
 * random, and repeats the reports that were not acknowledged. The reports outlive the gateway process.
 */
import { dialPlugin, hello, type Frame, type Plugin } from '../../support/plugin.js';
import { UnacknowledgedFrames } from '../../support/unacknowledged.js';
import type { Chance } from '../chance.js';
import type { ObservationDetails, TerminalIdentity } from './observation.js';

/** The pause between two attempts doubles as often as this. */
const failuresMax = 4;

export interface TerminalConnectionDeps {
  readonly identity: TerminalIdentity;
  readonly chance: Chance;
  readonly observe: (connection: number, details: ObservationDetails) => void;
  /** The `executions` of the hello. */
  readonly known: () => readonly { readonly executionId: string; readonly status: string }[];
  /** Gets `submit` and `cancel`. */
  readonly onFrame: (frame: Frame) => void;
}

export class TerminalConnection {
  cutsConnections = false;
  readonly #deps: TerminalConnectionDeps;
  #url: string | undefined;
  #plugin: Plugin | undefined;
  #isWelcomed = false;
  #connection = 0;
  /** Attempts since the last one that found a gateway. */
  #failures = 0;
  #waiting: NodeJS.Timeout | undefined;
  readonly #unacknowledged = new UnacknowledgedFrames();

  constructor(deps: TerminalConnectionDeps) {
    this.#deps = deps;
    this.#cutAtRandom();
  }

  /** What the terminal waits for; undefined when it is connected and all reports are acknowledged. */
  get pendingWork(): string | undefined {
    if (!this.#isWelcomed) return `not welcomed on connection ${this.#connection}`;
    const [first] = this.#unacknowledged.frames;
    return first === undefined ? undefined : `not acknowledged: ${JSON.stringify(first)}`;
  }

  /** The number of the next report. */
  get nextSeq(): number {
    return this.#unacknowledged.seq + 1;
  }

  connectTo(url: string): void {
    this.#url = url;
    this.#failures = 0;
    if (this.#plugin === undefined) this.#connect();
    else if (this.#waiting !== undefined) this.#reconnectLater();
  }

  observe(details: ObservationDetails): void {
    this.#deps.observe(this.#connection, details);
  }

  /** Sends a frame without a number, which is lost with its connection. */
  say(frame: object, details: ObservationDetails): void {
    if (!this.#isWelcomed) return;
    this.#plugin?.send(frame);
    this.observe(details);
  }

  /** Sends a numbered frame, now or on the next connection, until it is acknowledged. */
  report(fields: object, makeDetails: (seq: number, sent: boolean) => ObservationDetails): void {
    const frame = this.#unacknowledged.add(fields);
    const { seq } = frame;
    if (this.#isWelcomed) this.#plugin?.send(frame);
    this.observe(makeDetails(seq, this.#isWelcomed));
  }

  #connect(): void {
    this.#waiting = undefined;
    const { identity, observe } = this.#deps;
    const connection = ++this.#connection;
    let helloAt = 0;
    this.#plugin = dialPlugin(this.#url as string, identity.sessionToken, {
      onOpen: (plugin) => {
        helloAt = Date.now();
        this.#failures = 0;
        this.#hello(plugin);
      },
      onFrame: (frame, plugin) => {
        // Frames of an earlier connection are ignored: the terminal has left it.
        if (plugin === this.#plugin) this.#take(frame, helloAt);
      },
      onClose: (code, plugin) => {
        observe(connection, { kind: 'closed', code });
        if (plugin === this.#plugin) this.#reconnectLater();
      },
    });
  }

  #hello(plugin: Plugin): void {
    const { identity, chance, known } = this.#deps;
    const { platform, instanceId, accountName } = identity;
    const executions = chance.happens(0.5) ? known() : [];
    plugin.send({
      ...hello,
      platform,
      instanceId,
      accountName,
      executions,
    });
    for (const { executionId, status } of executions) {
      this.observe({ kind: 'known', executionId, status });
    }
  }

  #take(frame: Frame, helloAt: number): void {
    const { onFrame, chance } = this.#deps;
    if (frame.type === 'submit' || frame.type === 'cancel') {
      onFrame(frame);
    } else if (frame.type === 'ack') {
      this.observe({ kind: 'acked', seq: frame['seq'] });
      this.#unacknowledged.acknowledge(frame['seq']);
    } else if (frame.type === 'error') {
      this.observe({ kind: 'error', code: frame['code'] });
    } else if (frame.type === 'welcome') {
      const lastSeq = frame['lastSeq'] as number;
      this.observe({ kind: 'welcome', connectionId: frame['connectionId'], lastSeq, helloAt });
      this.#isWelcomed = true;
      // A plugin may repeat only the frames that the gateway lacks, or all.
      if (chance.happens(0.5)) {
        this.#unacknowledged.acknowledge(lastSeq);
      }
      for (const report of this.#unacknowledged.frames) this.#plugin?.send(report);
    }
  }

  #reconnectLater(): void {
    this.#isWelcomed = false;
    clearTimeout(this.#waiting);
    const pauseMs = this.#deps.chance.between(0, this.cutsConnections ? 150 : 40);
    this.#waiting = setTimeout(() => this.#connect(), pauseMs * 2 ** this.#failures);
    this.#failures = Math.min(failuresMax, this.#failures + 1);
  }

  #cutAtRandom(): void {
    setTimeout(
      () => {
        if (this.cutsConnections) this.#plugin?.cut();
        this.#cutAtRandom();
      },
      this.#deps.chance.between(200, 2_500),
    );
  }
}
