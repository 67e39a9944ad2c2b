/**
 * One keep-alive connection of the generator with at most one request in flight. Reads into one
 * buffer that all connections share, and connects again by itself when the server closes it: what
 * was in flight then is lost and told.
 */
import { connect, type Socket } from 'node:net';
import { AnswerReader } from './answer-reader.js';
import type { Address } from './raw-socket.js';

export interface ConnectionEvents {
  /** It can send. Told after every connect. */
  readonly onOpen: (connection: Connection) => void;
  readonly onAnswer: (connection: Connection, status: number) => void;
  /** The request in flight will get no answer; `onOpen` follows. */
  readonly onLost: (connection: Connection) => void;
}

const shared = Buffer.alloc(65_536);

export class Connection {
  /** When the request in flight was meant to be sent. */
  intendedAt = 0;
  /** Its number. */
  sequence = 0;
  #isBusy = false;
  #isConnected = false;
  #socket: Socket;
  #reader = new AnswerReader();
  readonly #address: Address;
  readonly #events: ConnectionEvents;

  constructor(address: Address, events: ConnectionEvents) {
    this.#address = address;
    this.#events = events;
    this.#socket = this.#connect();
  }

  get isBusy(): boolean {
    return this.#isBusy;
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** The bytes must stay as they are until the answer has come. */
  send(bytes: Uint8Array, sequence: number, intendedAt: number): void {
    this.#isBusy = true;
    this.sequence = sequence;
    this.intendedAt = intendedAt;
    this.#socket.write(bytes);
  }

  #connect(): Socket {
    this.#reader = new AnswerReader();
    const socket = connect({
      ...this.#address,
      noDelay: true,
      onread: {
        buffer: shared,
        callback: (length) => {
          this.#read(length);
          return true;
        },
      },
    });
    let isRefused = true;
    socket.on('connect', () => {
      isRefused = false;
      this.#isConnected = true;
      this.#events.onOpen(this);
    });
    socket.on('error', (error) => {
      if (isRefused) throw new Error(`the server is gone: ${error.message}`);
    });
    socket.on('close', () => {
      this.#isConnected = false;
      if (this.#isBusy) {
        this.#isBusy = false;
        this.#events.onLost(this);
      }
      this.#socket = this.#connect();
    });
    return socket;
  }

  #read(length: number): void {
    const status = this.#reader.read(shared, length);
    if (status === 0) return;
    this.#isBusy = false;
    this.#events.onAnswer(this, status);
  }
}
