/**
 * A terminal's way to the gateway: connects, comes back after every cut, cuts the line itself at
 * random, numbers what it says and says again what was not acknowledged. Its numbers and what is
 * unacknowledged outlive the gateway.
 */
import { WebSocket } from 'ws';
import type { Chance } from '../chance.js';
import type { Deed, TerminalPlace } from './observation.js';

export interface Frame {
  readonly type: string;
  readonly [field: string]: any;
}

interface Numbered {
  readonly seq: number;
  readonly text: string;
}

export interface TerminalLinkDeps {
  readonly place: TerminalPlace;
  readonly chance: Chance;
  readonly observe: (connection: number, deed: Deed) => void;
  /** What the hello says of unfinished executions. */
  readonly known: () => readonly { readonly executionId: string; readonly status: string }[];
  /** Takes `submit` and `cancel`. */
  readonly onFrame: (frame: Frame) => void;
}

export class TerminalLink {
  isRestless = false;
  readonly #deps: TerminalLinkDeps;
  #url: string | undefined;
  #socket: WebSocket | undefined;
  #isWelcome = false;
  #connection = 0;
  #seq = 0;
  #unacknowledged: Numbered[] = [];

  constructor(deps: TerminalLinkDeps) {
    this.#deps = deps;
    this.#cutNowAndThen();
  }

  /** What keeps it from rest, or undefined when it is connected and all is acknowledged. */
  get unrest(): string | undefined {
    if (!this.#isWelcome) return `not welcomed on connection ${this.#connection}`;
    const [first] = this.#unacknowledged;
    return first === undefined ? undefined : `not acknowledged: ${first.text}`;
  }

  go(url: string): void {
    this.#url = url;
    if (this.#socket === undefined) this.#connect();
  }

  observe(deed: Deed): void {
    this.#deps.observe(this.#connection, deed);
  }

  /** A frame without a number: lost with its connection. */
  say(frame: object, deed: Deed): void {
    if (!this.#isWelcome) return;
    this.#socket?.send(JSON.stringify(frame));
    this.observe(deed);
  }

  /** A frame with a number: said again until it is acknowledged. */
  report(makeFrame: (seq: number) => object, makeDeed: (seq: number, sent: boolean) => Deed): void {
    const seq = ++this.#seq;
    const text = JSON.stringify(makeFrame(seq));
    this.#unacknowledged.push({ seq, text });
    if (this.#isWelcome) this.#socket?.send(text);
    this.observe(makeDeed(seq, this.#isWelcome));
  }

  #connect(): void {
    const { place, observe } = this.#deps;
    const url = (this.#url as string).replace(/^http/, 'ws');
    const connection = ++this.#connection;
    const socket = new WebSocket(`${url}/plugin/v1`, 'signalbox.plugin.v1', {
      headers: { authorization: `Bearer ${place.sessionToken}` },
    });
    let helloAt = 0;
    this.#socket = socket;
    socket.on('open', () => {
      helloAt = Date.now();
      this.#hello(socket);
    });
    socket.on('message', (data: Buffer) => {
      // What comes after our own cut is not read: to us the connection is over.
      if (socket === this.#socket) this.#take(JSON.parse(data.toString()) as Frame, helloAt);
    });
    socket.on('error', () => undefined);
    socket.on('close', (code) => {
      observe(connection, { kind: 'closed', code });
      if (socket === this.#socket) this.#lose();
    });
  }

  #hello(socket: WebSocket): void {
    const { place, chance, known } = this.#deps;
    const { platform, instanceId, accountName } = place;
    const executions = chance.happens(0.5) ? known() : [];
    socket.send(
      JSON.stringify({
        type: 'hello',
        platform,
        instanceId,
        accountName,
        capabilities: ['submit', 'cancel'],
        software: { name: 'restless', version: '1' },
        executions,
      }),
    );
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
      this.#unacknowledged = this.#unacknowledged.filter(({ seq }) => seq > frame['seq']);
    } else if (frame.type === 'error') {
      this.observe({ kind: 'error', code: frame['code'] });
    } else if (frame.type === 'welcome') {
      const lastSeq = frame['lastSeq'] as number;
      this.observe({ kind: 'welcome', lastSeq, helloAt });
      this.#isWelcome = true;
      // A careful plugin says only what the gateway lacks; a simple one says everything again.
      if (chance.happens(0.5)) {
        this.#unacknowledged = this.#unacknowledged.filter(({ seq }) => seq > lastSeq);
      }
      for (const { text } of this.#unacknowledged) this.#socket?.send(text);
    }
  }

  #lose(): void {
    this.#isWelcome = false;
    const pauseMs = this.#deps.chance.between(0, this.isRestless ? 150 : 20);
    setTimeout(() => this.#connect(), pauseMs);
  }

  #cutNowAndThen(): void {
    setTimeout(
      () => {
        if (this.isRestless) this.#socket?.terminate();
        this.#cutNowAndThen();
      },
      this.#deps.chance.between(200, 2_500),
    );
  }
}
