/**
 * Keeps file descriptors in reserve: a connection to the API port beyond its share is closed at once. Otherwise a
 * flood of connections, which needs no credential, would take them all, and the log would get no next file, the
 * operator's commands and the ops port no connection. Owns the number of open connections.
 */
import type { Clock, Timer } from '../lib/clock.js';
import { minuteMs } from '../lib/durations.js';
import { countOpenFiles, readFileLimit } from '../lib/file-limit.js';
import type { TemplatedApp } from './uws.js';

/** 64 connections to the ops port, 64 of commands, and the files of the log and of a backup. */
const reserveMax = 160;
/** Of a small limit, one in so many is the reserve. */
const reservePart = 4;

export interface RefusedConnections {
  /** Since this was last told. */
  readonly refused: number;
  readonly connectionsMax: number;
  readonly openFilesMax: number | undefined;
}

export interface ConnectionLimitDeps {
  readonly clock: Clock;
  readonly onRefused: () => void;
  /** Called at the first refusal, and at most once a minute. */
  readonly tell: (refused: RefusedConnections) => void;
}

export class ConnectionLimit {
  /** Connections that may be open. */
  max = Infinity;
  #open = 0;
  #refused = 0;
  #openFilesMax: number | undefined;
  #quiet: Timer | undefined;

  constructor(readonly deps: ConnectionLimitDeps) {}

  /** To be called when the process has open what it needs itself; without a limit where the system tells none. */
  measure(): void {
    this.#openFilesMax = readFileLimit('self');
    if (this.#openFilesMax !== undefined)
      this.max = connectionsMax(this.#openFilesMax, countOpenFiles());
  }

  watch(app: TemplatedApp): void {
    app.filter((res, change) => {
      this.#open += change;
      if (change < 0 || this.#open <= this.max) return;
      // Counted out within the call.
      res.close();
      this.#refuse();
    });
  }

  /** The native server counts a WebSocket in as a connection, and not out. */
  webSocketClosed(): void {
    this.#open--;
  }

  #refuse(): void {
    this.#refused++;
    this.deps.onRefused();
    if (this.#quiet === undefined) this.#tell();
  }

  #tell(): void {
    const { max: connectionsMax } = this;
    this.deps.tell({ refused: this.#refused, connectionsMax, openFilesMax: this.#openFilesMax });
    this.#refused = 0;
    this.#quiet = this.deps.clock.setTimer(minuteMs, () => {
      this.#quiet = undefined;
      if (this.#refused > 0) this.#tell();
    });
  }
}

/** @param openFiles of the process itself. */
export function connectionsMax(openFilesMax: number, openFiles: number): number {
  const reserve = Math.min(reserveMax, Math.floor(openFilesMax / reservePart));
  return Math.max(1, openFilesMax - openFiles - reserve);
}
